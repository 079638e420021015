package main

import (
	"encoding/json"
	"io"
	"sync"
)

// Events that a child process prints on stdout, one JSON object a line, for whoever started it.
const (
	eventListening = "listening" // it accepts requests at URL
	eventStopping  = "stopping"  // a hold point stops it; wake it with SIGCONT after ForMS
	eventKilling   = "killing"   // a hold point kills it
	eventTick      = "tick"      // a copy of a scheduled job had its turn: Slot, and whether it Ran
)

type event struct {
	Event string `json:"event"`
	URL   string `json:"url,omitempty"`
	Point string `json:"point,omitempty"`
	ForMS int64  `json:"for_ms,omitempty"`
	Slot  string `json:"slot,omitempty"`
	Ran   bool   `json:"ran,omitempty"`
	Error string `json:"error,omitempty"`
}

// eventWriter prints events. Safe for concurrent use.
func eventWriter(w io.Writer) func(event) {
	var mu sync.Mutex
	return func(e event) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(e) // whoever closed our stdout does not want to know
	}
}
