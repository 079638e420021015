package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// killRounds names the environment variable with the number of rounds of TestCrash_KillUnderLoad.
const killRounds = "SECKILL_KILL_ROUNDS"

// kill -9 of any process at any moment under load, then restart: nothing lost, nothing doubled, no drift.
func TestCrash_KillUnderLoad(t *testing.T) {
	rounds := 2
	if n, err := strconv.Atoi(os.Getenv(killRounds)); err == nil && n > 0 {
		rounds = n
	}
	crashEngines(t, func(t *testing.T, at addresses) {
		m := newMarket(t, at)
		stages := []string{"gate", "stream"}
		servers := []*child{m.serve(stages[0]), m.serve(stages[1])}
		for round := range rounds {
			m.open(servers[0], 150)
			m.mu.Lock()
			clear(m.accepted)
			m.mu.Unlock()
			victim := round % 2
			moment := time.Duration(round*97%400) * time.Millisecond // spread, and the same in every run
			stop := make(chan struct{})
			var clients sync.WaitGroup
			for i := range int64(8) {
				crowd := slices.Clone(servers)
				clients.Go(func() { m.crowd(crowd, i, stop) })
			}
			time.Sleep(moment)
			require.NoError(t, servers[victim].signal((*os.Process).Kill))
			<-servers[victim].done
			servers[victim] = m.serve(stages[victim])
			close(stop)
			clients.Wait()
			a := m.converges(servers[victim], fmt.Sprintf("round %d", round+1))
			t.Logf("round %d: killed the %s server after %v; %d orders", round+1, stages[victim], moment, a.Orders)
		}
	})
}

// crowd is one of the clients of a loaded sale: new users that buy at any process on any path, some of whom cancel.
func (m *market) crowd(servers []*child, number int64, stop <-chan struct{}) {
	for n := int64(1); ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		user := number*1_000_000 + n
		at := servers[n%2]
		order, status := m.buy(at, user)
		switch {
		case status == 0:
			time.Sleep(5 * time.Millisecond) // a dead server answers at once
		case status/100 == 2 && n%4 == 0:
			m.cancel(at, user, order)
		}
	}
}
