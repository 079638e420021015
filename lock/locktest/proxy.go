package locktest

import (
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fault is something that goes wrong on the way to a Redis and back. It applies to commands, not to what clients say
// when they connect, and not to subscriptions.
type Fault struct {
	Kind  FaultKind
	Delay time.Duration // of Delay
	Times int           // how many commands it hits; 0: all
	// Match chooses the commands; nil: every one.
	Match func(words []string) bool
	// Gate holds the command back before the server sees it, in addition to what Kind does; nil: nothing does. What
	// follows on the same connection waits too. The server gets it also when the client has gone meanwhile.
	Gate *Gate
}

// FaultKind is what happens to a command.
type FaultKind int

// The faults of the proxy.
const (
	None    FaultKind = iota // nothing, for the sake of the gate
	Delay                    // the reply comes late
	Drop                     // the command never reaches the server, and nothing comes back
	Swallow                  // the server does it, and nothing comes back
	Cut                      // the server does it, and the connection breaks instead of a reply
)

// Proxy stands between a client and one Redis. Safe for concurrent use.
type Proxy struct {
	target string
	ln     net.Listener
	wg     sync.WaitGroup

	mu     sync.Mutex
	faults []*Fault
	conns  map[net.Conn]struct{}
	seen   [][]string
	closed bool
	done   chan struct{} // closed with closed
}

// NewProxy starts a proxy in front of target. It stops with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	p, err := newProxy(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

func newProxy(target string) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, ln: ln, conns: map[net.Conn]struct{}{}, done: make(chan struct{})}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Inject adds a fault; the first one that matches a command hits it.
func (p *Proxy) Inject(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, &f)
}

// Heal takes all faults away. What they swallowed stays lost.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// Seen lists the commands that came since the last call, without what clients say when they connect.
func (p *Proxy) Seen() [][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

// CutAll breaks all connections.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *Proxy) stop() {
	_ = p.ln.Close()
	p.mu.Lock()
	p.closed = true
	close(p.done)
	p.mu.Unlock()
	p.CutAll()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		if p.keep(client, server) {
			link := &link{p: p, client: client, server: server, sent: make(chan *Fault, 4096)}
			p.wg.Go(link.requests)
			p.wg.Go(link.replies)
		}
	}
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed {
			_ = c.Close()
		} else {
			p.conns[c] = struct{}{}
		}
	}
	return !p.closed
}

// handshake is what clients say by themselves.
var handshake = []string{"hello", "client", "auth", "select", "ping", "command"}

// take notes a command and returns the fault that hits it.
func (p *Proxy) take(command []string) *Fault {
	if len(command) == 0 || slices.Contains(handshake, strings.ToLower(command[0])) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, command)
	for i, f := range p.faults {
		if f.Match != nil && !f.Match(command) {
			continue
		}
		hit := *f
		if f.Times == 1 {
			p.faults = slices.Delete(p.faults, i, i+1)
		} else if f.Times > 1 {
			f.Times--
		}
		return &hit
	}
	return nil
}
