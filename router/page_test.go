package router

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func TestPage_IsServedUnderItsPolicy(t *testing.T) {
	s := newShop(t)
	for target, media := range map[string]string{
		"/": "text/html; charset=utf-8", "/web/app.js": "text/javascript; charset=utf-8", "/web/style.css": "text/css; charset=utf-8",
		"/web/icon.svg": "image/svg+xml",
	} {
		got := s.do("GET", target, "").is(200, "")
		require.Equal(t, media, got.Header.Get("Content-Type"))
		policy := got.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", got.Header.Get("X-Content-Type-Options"))
		tag := got.Header.Get("ETag")
		require.NotEmpty(t, tag)
		require.Empty(t, s.do("GET", target, "", "If-None-Match: "+tag).is(304, "").Body)
		require.Empty(t, s.do("HEAD", target, "").is(200, "").Body)
	}
	without := s.do("GET", "/", "").is(200, "").Body
	require.Regexp(t, `(?s)<html lang="en">.*<noscript>.*This page needs JavaScript.*<p lang="zh-CN">本页面需要 JavaScript.*</noscript>`, without)
	for _, target := range []string{"/web/", "/web/none.js", "/web/..", "/web/%2e%2e%2fpage.go", "/web/..%2fopenapi.json", "/index.html"} {
		s.do("GET", target, "").is(404, "not_found")
	}
}

// What would break the policy, let text become markup, or tie the page to one address is not in its files.
func TestPage_HasNoInlineCodeAndNoOutsideAddress(t *testing.T) {
	files, err := fs.Glob(web, "web/*")
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	rules := map[string]*regexp.Regexp{
		"markup from text":    regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`),
		"inline style":        regexp.MustCompile(`\sstyle=|<style|cssText`),
		"inline script":       regexp.MustCompile(`<script[^>]*>[^<]|\son\w+="`),
		"an absolute address": regexp.MustCompile(`(?:fetch|EventSource|get|post)\([` + "`" + `'"]/|(?:href|src)="/|(?:href|src): [` + "`" + `'"]/`),
		"another host":        regexp.MustCompile(`(?:https?:)?//[a-z0-9-]+\.[a-z]`),
	}
	for _, name := range files {
		text, err := fs.ReadFile(web, name)
		require.NoError(t, err)
		plain := strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", "")
		for what, rule := range rules {
			require.Empty(t, rule.FindString(plain), "%s has %s", path.Base(name), what)
		}
	}
}

// Every text that the page asks for is there, in both languages and with the same blanks.
func TestPage_WordsAreWhole(t *testing.T) {
	text, err := fs.ReadFile(web, "web/words.js")
	require.NoError(t, err)
	pair := regexp.MustCompile(`(?s)\b([\w.]+(?: \w+)*)'?: \['((?:[^'\\]|\\.)*)',\s*'((?:[^'\\]|\\.)*)'\]`)
	blank := regexp.MustCompile(`\{\w+\}`)
	known := map[string]bool{}
	for _, m := range pair.FindAllStringSubmatch(string(text), -1) {
		require.NotEmpty(t, m[2], m[1])
		require.NotEmpty(t, m[3], m[1])
		require.ElementsMatch(t, blank.FindAllString(m[2], -1), blank.FindAllString(m[3], -1), m[1])
		known[m[1]] = true
	}
	require.Greater(t, len(known), 200)
	files, err := fs.Glob(web, "web/*.js")
	require.NoError(t, err)
	asked := regexp.MustCompile(`\bt\('([\w. ]+)'`)
	for _, name := range files {
		source, err := fs.ReadFile(web, name)
		require.NoError(t, err)
		for _, m := range asked.FindAllStringSubmatch(string(source), -1) {
			require.Contains(t, known, m[1], name)
		}
	}
	for _, row := range answers {
		if row.code != "method_not_allowed" {
			require.Contains(t, known, "code."+row.code, "each refusal has words")
		}
	}
	for _, status := range []string{RunQueued, RunDone, RunCancelled, RunFailed, RunInterrupted} {
		require.Contains(t, known, "live."+status)
	}
	for _, track := range service.Tracks() {
		require.Contains(t, known, "track."+track)
	}
	for _, scenario := range service.Scenarios() {
		require.Contains(t, known, "about."+scenario)
	}
}

func TestAboutAndSource(t *testing.T) {
	var asked string
	s := newShop(t, func(o *Options) {
		o.Sources = func(stage service.Stage) ([]SourceFile, error) {
			asked = stage.Name
			if stage.Name == "none" {
				return nil, errors.New("disk on fire")
			}
			return []SourceFile{{Name: "a.go", Text: "x", Marks: []int{1}}}, nil
		}
	})
	var about map[string]any
	s.do("GET", "/api/v1/about", "").is(200, "").into(&about)
	require.Equal(t, true, about["lab"])
	require.Equal(t, false, about["runs"])
	require.Equal(t, "conditional", about["stage"])
	require.JSONEq(t, `[{"name":"a.go","text":"x","marks":[1]}]`, s.do("GET", "/api/v1/stages/lua/source", "").is(200, "").Body)
	require.Equal(t, "lua", asked)
	s.do("GET", "/api/v1/stages/nobody/source", "").is(404, "not_found")
	require.NotContains(t, s.do("GET", "/api/v1/stages/none/source", "").is(500, "internal").Body, "fire")
}
