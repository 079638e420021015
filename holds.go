package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/lock"
	"seckill/service"
)

// Actions of a hold point.
const (
	holdPause = "pause" // the goroutine sleeps
	holdStop  = "stop"  // the process stops itself, and its parent wakes it up
	holdKill  = "kill"  // the process kills itself
)

// holdPoints are the places that --hold can name.
func holdPoints() []string {
	return append([]string{lock.HoldAcquireCheck, lock.HoldAcquireBetween, lock.HoldRelease, lock.HoldReleaseBetween}, service.HoldPoints()...)
}

// hold is one parsed --hold.
type hold struct {
	point  string
	action string
	length time.Duration // of pause and stop
	skip   int           // let it pass so many times first
	times  int           // then act so many times; -1: always
}

const maxHold = time.Hour

// parseHold reads POINT=ACTION[:DURATION][,skip=N][,times=N].
func parseHold(text string) (hold, error) {
	h := hold{times: -1}
	fail := func(why string) (hold, error) {
		return hold{}, fmt.Errorf("hold %q: %s; want POINT=ACTION[:DURATION][,skip=N][,times=N]", text, why)
	}
	fields := strings.Split(text, ",")
	point, action, ok := strings.Cut(fields[0], "=")
	if !ok || !slices.Contains(holdPoints(), point) {
		return fail("the point is none of " + strings.Join(holdPoints(), ", "))
	}
	name, length, timed := strings.Cut(action, ":")
	h.point, h.action = point, name
	switch {
	case !slices.Contains([]string{holdPause, holdStop, holdKill}, name):
		return fail("the action is none of pause, stop, kill")
	case timed == (name == holdKill):
		return fail("pause and stop need a duration, kill takes none")
	}
	if timed {
		d, err := time.ParseDuration(length)
		if err != nil || d <= 0 || d > maxHold {
			return fail("the duration must lie between 0 and 1h")
		}
		h.length = d
	}
	for _, f := range fields[1:] {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(value)
		switch {
		case err != nil || n < 0 || n > 1_000_000:
			return fail(key + " must be a number from 0 to 1000000")
		case key == "skip":
			h.skip = n
		case key == "times":
			h.times = n
		default:
			return fail(fmt.Sprintf("%q is neither skip nor times", key))
		}
	}
	return h, nil
}

// armHolds makes the hold points of a server act. say prints the events that the parent of the process acts on.
func armHolds(texts []string, say func(event)) (*lock.Holds, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	holds := &lock.Holds{}
	for _, text := range texts {
		h, err := parseHold(text)
		if err != nil {
			return nil, err
		}
		holds.On(h.point, h.skip, h.times, func() { h.act(say) })
	}
	return holds, nil
}

func (h hold) act(say func(event)) {
	e := event{Point: h.point, ForMS: h.length.Milliseconds()}
	switch h.action {
	case holdPause:
		time.Sleep(h.length)
	case holdStop:
		e.Event = eventStopping
		say(e)
		stopSelf(h.length)
	case holdKill:
		e.Event = eventKilling
		say(e)
		killSelf()
	}
}
