package loadtest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Folder is where the files of one comparison go: report.json, report.html, report.md, report.txt, and results/ with
// every request's result, to be read with `vegeta report`.
type Folder struct {
	path string
	n    atomic.Int64
}

// NewFolder creates <out>/<time>, a name of its own even when two comparisons start in the same second.
func NewFolder(out string, now time.Time) (*Folder, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	base := filepath.Join(out, now.UTC().Format("20060102T150405Z"))
	for i := 1; ; i++ {
		path := base
		if i > 1 {
			path = fmt.Sprintf("%s-%d", base, i)
		}
		err := os.Mkdir(path, 0o755)
		if err == nil {
			return &Folder{path: path}, os.Mkdir(filepath.Join(path, "results"), 0o755)
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
}

// Path of the folder.
func (f *Folder) Path() string { return f.path }

// Results creates the file for a row's results; it fits Runner.Results.
func (f *Folder) Results(r Row) (io.WriteCloser, error) {
	name := fmt.Sprintf("%03d-%s-%s.bin", f.n.Add(1), r.Stage, r.Scenario)
	return os.Create(filepath.Join(f.path, "results", name))
}

// Write writes the report's files and, unless rows are missing, points <out>/latest at the folder. texts are those of
// Report.WriteHTML.
func (f *Folder) Write(r Report, texts map[string]Bilingual) error {
	for name, write := range map[string]func(io.Writer) error{
		"report.json": r.WriteJSON, "report.md": r.WriteMarkdown, "report.txt": r.WriteTable,
		"report.html": func(w io.Writer) error { return r.WriteHTML(w, texts) },
	} {
		var text strings.Builder
		if err := write(&text); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(f.path, name), []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	if r.Missing > 0 {
		return nil
	}
	return f.latest()
}

// latest replaces the link by renaming, so that a reader never finds none. Where links are not allowed, it is a file
// that names the folder.
func (f *Folder) latest() error {
	link, target := filepath.Join(filepath.Dir(f.path), "latest"), filepath.Base(f.path)
	fresh := f.path + ".latest"
	if err := os.Symlink(target, fresh); err != nil {
		return os.WriteFile(link, []byte(target+"\n"), 0o644)
	}
	if err := os.Rename(fresh, link); err != nil {
		_ = os.Remove(fresh)
		return err
	}
	return nil
}
