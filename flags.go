package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// optional is a duration flag whose default, auto, leaves the choice to the stage or the scenario.
type optional struct{ d *time.Duration }

func (o *optional) String() string {
	if o == nil || o.d == nil {
		return "auto"
	}
	return o.d.String()
}

func (o *optional) Type() string { return "duration" }

func (o *optional) Set(s string) error {
	if s == "auto" {
		o.d = nil
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return errors.New(`want auto or a duration such as 300ms or 2s`)
	}
	o.d = &d
	return nil
}

// choice is a flag with a few values.
type choice struct {
	value  string
	values []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.values, "|") }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.values, s) {
		return errors.New("want one of " + strings.Join(c.values, ", "))
	}
	c.value = s
	return nil
}

func choiceFlag(f *pflag.FlagSet, name, value string, values []string, about string) *choice {
	c := &choice{value, values}
	f.Var(c, name, about)
	return c
}

// switchFlag is on or off, and told apart from not given. A bare --name means on.
type switchFlag struct{ on *bool }

func (s *switchFlag) String() string {
	if s == nil || s.on == nil {
		return "auto"
	}
	return map[bool]string{true: "on", false: "off"}[*s.on]
}

func (s *switchFlag) Type() string { return "on|off" }

func (s *switchFlag) Set(text string) error {
	on := text == "on"
	if !on && text != "off" {
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("want on or off")
		}
		on = b
	}
	s.on = &on
	return nil
}

func onOff(f *pflag.FlagSet, name, about string) *switchFlag {
	s := &switchFlag{}
	f.Var(s, name, about)
	f.Lookup(name).NoOptDefVal = "on"
	return s
}

// list splits a comma-separated flag; empty elements don't count.
func list(s string) []string {
	var out []string
	for e := range strings.SplitSeq(s, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}
