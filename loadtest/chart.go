package loadtest

import (
	"bytes"
	"html/template"
	"image/color"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Charts are small, so that three fit beside each other and one fits a telephone without its text shrinking.
const (
	chartWidth  = vg.Length(330)
	chartHeight = vg.Length(170)
)

// Colours of lines, told apart also by people who see red and green alike.
var (
	soldColour    = color.RGBA{0x00, 0x72, 0xb2, 0xff} // blue: orders, accepted
	refusedColour = color.RGBA{0xe6, 0x9f, 0x00, 0xff} // orange: rejected
	stockColour   = color.RGBA{0x55, 0x55, 0x55, 0xff}
	overColour    = color.RGBA{0xd5, 0x00, 0x32, 0xff} // red: oversold
	gridColour    = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
)

// newChart is an empty chart. Everything that has words stands beside it in the page, in the reader's language.
func newChart() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
		a.Tick.LineStyle.Width = 0.5
		a.LineStyle.Width = 0.5
	}
	p.Y.Tick.Marker = plot.TickerFunc(plain)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridColour, gridColour
	p.Add(grid)
	return p
}

// plain are the library's ticks with 750 in place of 750.00.
func plain(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if strings.Contains(t.Label, ".") && !strings.Contains(t.Label, "e") {
			ticks[i].Label = strings.TrimRight(strings.TrimRight(t.Label, "0"), ".")
		}
	}
	return ticks
}

// line adds a line to the chart; fewer than two points make none.
func line(p *plot.Plot, points plotter.XYs, c color.Color, style func(*draw.LineStyle)) {
	if len(points) < 2 {
		return
	}
	l, err := plotter.NewLine(points)
	if err != nil {
		return // not a number: such a point comes from a damaged file alone, and a line less is no harm
	}
	l.Color, l.Width = c, 1.4
	if style != nil {
		style(&l.LineStyle)
	}
	p.Add(l)
}

func dashed(s *draw.LineStyle) { s.Dashes = []vg.Length{4, 3} }

// area fills between the line and a level.
func area(p *plot.Plot, points plotter.XYs, level float64, c color.RGBA) {
	if len(points) < 2 {
		return
	}
	ring := append(plotter.XYs{{X: points[0].X, Y: level}}, points...)
	ring = append(ring, plotter.XY{X: points[len(points)-1].X, Y: level})
	polygon, err := plotter.NewPolygon(ring)
	if err != nil {
		return
	}
	c.A = 0x40
	polygon.Color = color.NRGBA(c)
	polygon.LineStyle.Width = 0
	p.Add(polygon)
}

// svgHead is what the library writes before the drawing; the page gives the size.
var svgHead = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*" (viewBox="[^"]*")[^>]*>`)

// svg draws the chart. It has no text but numbers, so that it can stand in a page as it is.
func svg(p *plot.Plot) template.HTML {
	canvas := vgsvg.New(chartWidth, chartHeight)
	// The last number of the x axis is centred under the end of it.
	p.Draw(draw.Crop(draw.NewCanvas(canvas, chartWidth, chartHeight), 0, -vg.Length(14), 0, 0))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return ""
	}
	text := svgHead.ReplaceAll(b.Bytes(), []byte(`<svg $1 xmlns="http://www.w3.org/2000/svg" role="img">`))
	text = bytes.ReplaceAll(text, []byte("font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;"), nil)
	return template.HTML(text)
}
