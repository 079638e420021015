package locktest

import "sync/atomic"

// Gate holds commands back on their way to the server until it is opened, so that they arrive when a test wants them
// to. Safe for concurrent use.
type Gate struct {
	open         chan struct{}
	held, passed atomic.Int32
}

// NewGate makes a closed one.
func NewGate() *Gate { return &Gate{open: make(chan struct{})} }

// Open lets everything through, once and for all.
func (g *Gate) Open() { close(g.open) }

// Held is how many commands have come to the gate.
func (g *Gate) Held() int { return int(g.held.Load()) }

// Passed is how many of them the server has answered, whether or not the client gets the answer.
func (g *Gate) Passed() int { return int(g.passed.Load()) }

// pass waits; false: the proxy stops.
func (g *Gate) pass(stopped <-chan struct{}) bool {
	g.held.Add(1)
	select {
	case <-g.open:
		return true
	case <-stopped:
		return false
	}
}
