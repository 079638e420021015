package loadtest

import (
	"html/template"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// seconds turns a series into the points of one of its values.
func seconds(series []Sample, value func(Sample) int) plotter.XYs {
	points := make(plotter.XYs, len(series))
	for i, s := range series {
		points[i] = plotter.XY{X: s.AtMS / 1000, Y: float64(value(s))}
	}
	return points
}

// stockChart shows the stock column and the orders over time. Orders above the initial stock are oversold, and filled.
func (row Row) stockChart() template.HTML {
	if len(row.Series) < 2 {
		return ""
	}
	p := newChart()
	p.Y.Min = 0
	orders := seconds(row.Series, func(s Sample) int { return s.Orders })
	initial := float64(row.InitialStock)
	area(p, above(orders, initial), initial, overColour)
	end := row.Series[len(row.Series)-1].AtMS / 1000
	line(p, plotter.XYs{{X: 0, Y: initial}, {X: end, Y: initial}}, overColour, dashed)
	line(p, seconds(row.Series, func(s Sample) int { return s.StockLeft }), stockColour, nil)
	line(p, orders, soldColour, nil)
	p.Y.Min = min(0, p.Y.Min)
	return svg(p)
}

// above is the part of a rising line that lies above a level, from where it crosses it.
func above(points plotter.XYs, level float64) plotter.XYs {
	var part plotter.XYs
	for i, p := range points {
		if p.Y <= level {
			continue
		}
		if part == nil && i > 0 && points[i-1].Y <= level {
			before := points[i-1]
			share := (level - before.Y) / (p.Y - before.Y)
			part = append(part, plotter.XY{X: before.X + share*(p.X-before.X), Y: level})
		}
		part = append(part, p)
	}
	return part
}

// rateChart shows how many answers of each kind came in each second.
func (row Row) rateChart() template.HTML {
	if len(row.Series) < 2 {
		return ""
	}
	p := newChart()
	rejected := perSecond(row.Series, func(s Sample) int { return s.Rejected })
	accepted := perSecond(row.Series, func(s Sample) int { return s.Accepted })
	failed := perSecond(row.Series, func(s Sample) int { return s.Errors + s.Dropped })
	line(p, rejected, refusedColour, nil)
	if peak(failed) > 0 {
		line(p, failed, overColour, dashed)
	}
	line(p, accepted, soldColour, nil)
	p.Y.Min = 0
	p.Y.Max = max(1, p.Y.Max)
	return svg(p)
}

// perSecond turns totals into rates, drawn as steps: a sample says what came since the one before.
func perSecond(series []Sample, value func(Sample) int) plotter.XYs {
	var points plotter.XYs
	for i := 1; i < len(series); i++ {
		from, to := series[i-1], series[i]
		if to.AtMS <= from.AtMS {
			continue
		}
		y := 1000 * float64(value(to)-value(from)) / (to.AtMS - from.AtMS)
		points = append(points, plotter.XY{X: from.AtMS / 1000, Y: y}, plotter.XY{X: to.AtMS / 1000, Y: y})
	}
	return points
}

func peak(points plotter.XYs) float64 {
	most := 0.0
	for _, p := range points {
		most = max(most, p.Y)
	}
	return most
}

// latencyChart shows which share of the answers came within a time, of several rows together. The time axis is
// logarithmic: a refusal takes a millisecond and a place in the queue for a lock seconds.
func latencyChart(rows []Row) template.HTML {
	var sold, refused []Bucket
	for _, row := range rows {
		sold, refused = append(sold, row.Histogram.Accepted...), append(refused, row.Histogram.Rejected...)
	}
	soldShares, refusedShares := shares(sold), shares(refused)
	if len(soldShares)+len(refusedShares) == 0 {
		return ""
	}
	p := newChart()
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(tens)
	p.Y.Min, p.Y.Max = 0, 100
	line(p, refusedShares, refusedColour, nil)
	line(p, soldShares, soldColour, nil)
	p.X.Min = math.Pow(10, math.Floor(math.Log10(p.X.Min)))
	p.X.Max = math.Pow(10, math.Ceil(math.Log10(p.X.Max)))
	return svg(p)
}

// Bounds that a latency in milliseconds has for certain. What lies beyond comes from a damaged file, and a logarithmic
// axis can't show it.
const leastMS, mostMS = 1e-3, 1e9

// shares sums buckets up to percentages. Equal bounds may come several times.
func shares(buckets []Bucket) plotter.XYs {
	l := map[float64]int{}
	total := 0
	for _, b := range buckets {
		if b.LeMS >= leastMS && b.LeMS <= mostMS && b.N > 0 {
			l[b.LeMS] += b.N
			total += b.N
		}
	}
	var points plotter.XYs
	sum := 0
	for _, le := range slices.Sorted(maps.Keys(l)) {
		if len(points) == 0 {
			points = append(points, plotter.XY{X: le / math.Exp2(1.0/bucketsPerDoubling), Y: 0})
		}
		sum += l[le]
		points = append(points, plotter.XY{X: le, Y: 100 * float64(sum) / float64(total)})
	}
	return points
}

// tens marks the powers of ten.
func tens(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		at := math.Pow(10, e)
		ticks = append(ticks, plot.Tick{Value: at, Label: number64(at)})
		for k := 2.0; k < 10; k++ {
			ticks = append(ticks, plot.Tick{Value: k * at})
		}
	}
	return ticks
}
