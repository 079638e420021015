package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// nginxBlock is a block of nginx's configuration: its directives and the blocks in it, each under its words.
type nginxBlock struct {
	words      []string
	directives [][]string
	blocks     []nginxBlock
}

var (
	nginxRemark = regexp.MustCompile(`(?m)#.*$`)
	nginxWord   = regexp.MustCompile(`"[^"]*"|[^\s;{}"]+|[;{}]`)
)

// readNginx parses the balancer's configuration.
func readNginx(t *testing.T) nginxBlock {
	t.Helper()
	text := nginxRemark.ReplaceAllString(readText(t, composeDir+"/nginx.conf"), "")
	rest := nginxWord.FindAllString(text, -1)
	top := nginxBlock{}
	top.parse(t, &rest, false)
	require.Empty(t, rest)
	return top
}

// parse takes words up to the end of the block.
func (b *nginxBlock) parse(t *testing.T, rest *[]string, inside bool) {
	t.Helper()
	var words []string
	for len(*rest) > 0 {
		word := (*rest)[0]
		*rest = (*rest)[1:]
		switch word {
		case ";":
			require.NotEmpty(t, words)
			b.directives, words = append(b.directives, words), nil
		case "{":
			child := nginxBlock{words: words}
			child.parse(t, rest, true)
			b.blocks, words = append(b.blocks, child), nil
		case "}":
			require.True(t, inside)
			require.Empty(t, words, "a directive ends with a semicolon")
			return
		default:
			words = append(words, word)
		}
	}
	require.False(t, inside, "%v is not closed", b.words)
	require.Empty(t, words)
}

// find lists the blocks of that name at any depth.
func (b nginxBlock) find(name string) (found []nginxBlock) {
	for _, child := range b.blocks {
		if child.words[0] == name {
			found = append(found, child)
		}
		found = append(found, child.find(name)...)
	}
	return found
}

// values lists what stands behind the directive of that name, but for its further words.
func (b nginxBlock) values(name string) (list []string) {
	for _, d := range b.directives {
		if d[0] == name {
			list = append(list, d[1])
		}
	}
	return list
}

// servers are those that a request for path may reach.
func (b nginxBlock) servers(t *testing.T, path string) []string {
	t.Helper()
	var best nginxBlock
	longest := -1
	for _, location := range b.find("location") {
		require.Len(t, location.words, 2, "locations are plain prefixes")
		if prefix := location.words[1]; strings.HasPrefix(path, prefix) && len(prefix) > longest {
			best, longest = location, len(prefix)
		}
	}
	require.Len(t, best.values("proxy_pass"), 1, path)
	upstream := strings.TrimPrefix(best.values("proxy_pass")[0], "http://")
	for _, u := range b.find("upstream") {
		if u.words[1] == upstream {
			return u.values("server")
		}
	}
	t.Fatalf("%s: there is no upstream %s", path, upstream)
	return nil
}

// The lab's runs, their streams and their history live in the memory of one process, so all of its paths lead to one;
// every other path may be served by each.
func TestBalancerKeepsTheLabOnOneProcess(t *testing.T) {
	c, _ := readCompose(t, "")
	port := appPort(t, c)
	conf := readNginx(t)
	lab := 0
	for _, path := range append(servedPaths(t), "/web/app.js") {
		servers := conf.servers(t, path)
		if strings.HasPrefix(path, "/api/v1/lab/") {
			lab++
			require.Equal(t, []string{"app1:" + port}, servers, path)
			continue
		}
		require.Equal(t, []string{"app1:" + port, "app2:" + port, "app3:" + port}, servers, path)
	}
	require.Greater(t, lab, 5)
}

// What a run says while it goes on must not wait in a buffer or be cut off, under any location.
func TestBalancerStreams(t *testing.T) {
	server := readNginx(t).find("server")
	require.Len(t, server, 1)
	require.Equal(t, []string{"off"}, server[0].values("proxy_buffering"))
	require.Equal(t, []string{"1.1"}, server[0].values("proxy_http_version"))
	require.Equal(t, []string{"1h"}, server[0].values("proxy_read_timeout"))
	for _, location := range server[0].find("location") {
		require.Len(t, location.directives, 1, "%v: proxy_pass alone, or the server's headers are not inherited", location.words)
	}
}
