package loadtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrReport is wrapped by everything that makes a file no report.
var ErrReport = errors.New("not a report of compare")

// ReadReportFile reads report.json, or the one in a folder that compare wrote.
func ReadReportFile(path string) (Report, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "report.json")
	}
	f, err := os.Open(path)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = f.Close() }()
	r, err := ReadReport(f)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// ReadReport reads what WriteJSON wrote, or another tool in its form. Keys that it does not know are passed over; the
// summary is always made anew from the rows.
func ReadReport(from io.Reader) (Report, error) {
	var r Report
	if err := json.NewDecoder(from).Decode(&r); err != nil {
		return Report{}, fmt.Errorf("%w: %w", ErrReport, err)
	}
	if len(r.Rows) == 0 {
		return Report{}, fmt.Errorf("%w: it has no rows", ErrReport)
	}
	for i, row := range r.Rows {
		if row.Stage == "" && row.Scenario == "" || row.Status == "" {
			return Report{}, fmt.Errorf("%w: row %d names no stage, scenario or status", ErrReport, i+1)
		}
	}
	r.Groups = groups(r.Rows)
	return r, nil
}
