package lock

import "strings"

// braces are what Redis Cluster reads as the limits of a hash tag; the percent sign is what we write them with.
var braces = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// name is the key in Redis: prefix{key}. All other names of a lock start with it, so that they share its hash tag and
// with it its cluster slot. The braces of the caller's text are escaped: no two keys share a name, and no text can
// move the tag. Everything else is safe as it is, because Redis keys are bytes.
func (l *locker) name(key string) string {
	if strings.ContainsAny(key, "{}%") {
		key = braces.Replace(key)
	}
	return l.prefix + "{" + key + "}"
}

func fenceOf(name string) string { return name + ":fence" }

// channelOf is what release.lua sends its message to.
func channelOf(name string) string { return name + ":free" }
