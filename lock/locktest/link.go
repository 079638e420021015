package locktest

import (
	"bufio"
	"bytes"
	"net"
	"strings"
	"time"
)

// link is one client's connection. Commands and replies go in order, so the fault of a command waits for its reply.
type link struct {
	p              *Proxy
	client, server net.Conn
	sent           chan *Fault
}

func (l *link) close() {
	l.p.mu.Lock()
	delete(l.p.conns, l.client)
	delete(l.p.conns, l.server)
	l.p.mu.Unlock()
	_ = l.client.Close()
	_ = l.server.Close()
}

// unordered marks a subscription: the order of replies says nothing from there on.
var unordered = &Fault{}

// requests goes on until the client has gone or the server can't be written to. What it has sent may still be answered
// then, so that the server alone ends the connection.
func (l *link) requests() {
	defer l.server.(*net.TCPConn).CloseWrite()
	defer close(l.sent)
	r := bufio.NewReader(l.client)
	ordered := true
	for {
		raw, err := frame(r)
		if err != nil {
			return
		}
		command := words(raw)
		if ordered && len(command) > 0 && strings.HasSuffix(strings.ToLower(command[0]), "subscribe") {
			ordered = false
			l.sent <- unordered
		}
		if ordered {
			fault := l.p.take(command)
			if fault != nil && fault.Gate != nil && !fault.Gate.pass(l.p.done) {
				return
			}
			if fault != nil && fault.Kind == Drop {
				continue
			}
			l.sent <- fault
		}
		if _, err := l.server.Write(raw); err != nil {
			return
		}
	}
}

func (l *link) replies() {
	defer l.close()
	r := bufio.NewReader(l.server)
	pushed := false
	for {
		raw, err := frame(r)
		if err != nil {
			return
		}
		if !pushed && !bytes.HasPrefix(raw, []byte(">")) {
			fault, ok := <-l.sent
			if !ok {
				return
			}
			if fault != nil && fault.Gate != nil {
				fault.Gate.passed.Add(1)
			}
			switch {
			case fault == nil:
			case fault == unordered:
				pushed = true
			case fault.Kind == Swallow:
				continue
			case fault.Kind == Cut:
				return
			case fault.Kind == Delay:
				time.Sleep(fault.Delay)
			}
		}
		if _, err := l.client.Write(raw); err != nil {
			return
		}
	}
}
