package loadtest

import (
	"fmt"
	"strings"
	"time"
)

// Commands run a row again, with tools of one's own choice: start the servers in one terminal, and in another write the
// users and then send them with vegeta or with k6. They are for a shell at the top of the repository.
type Commands struct {
	Servers string `json:"servers"`
	Users   string `json:"users"`
	Vegeta  string `json:"vegeta"`
	K6      string `json:"k6"`
}

// firstPort is where `seckill fleet` puts its first server.
const firstPort = 8081

// Commands run the plan's row. vegeta is given the row's number of workers and its rate, which makes its load the row's
// own; k6 opens the load, and lets all users of a row without a rate arrive within a second. Servers that run elsewhere
// are there already.
func (p Plan) Commands() Commands {
	c := Commands{Servers: p.serversCommand()}
	targets, stage := p.Targets, ""
	if len(targets) > 0 {
		c.Servers, stage = "", " --stage="+p.Stage.Name
	}
	for i := len(targets); i < p.Processes; i++ {
		targets = append(targets, fmt.Sprintf("http://127.0.0.1:%d", firstPort+i))
	}
	shape, perSecond := "burst", p.Users
	if p.Clicks > 1 {
		shape = "duplicates"
	}
	if p.Rate > 0 {
		perSecond = max(1, p.Rate/p.Clicks) // of users, each of whom clicks so often
	}
	c.Users = fmt.Sprintf("go run . users --count=%d --clicks=%d --stock=%d --target=%s%s --out=kit",
		p.Users, p.Clicks, p.Stock, strings.Join(targets, ","), stage)
	c.Vegeta = fmt.Sprintf("WORKERS=%d loadtest/vegeta/attack.sh kit %d", p.Workers, p.Rate)
	c.K6 = fmt.Sprintf(`k6 run -e KIT="$PWD/kit" -e SCENARIO=%s -e RATE=%d loadtest/k6/orders.js`, shape, perSecond)
	return c
}

func (p Plan) serversCommand() string {
	servers := []string{"go run . fleet", fmt.Sprintf("--processes=%d", p.Processes), "--stage=" + p.Stage.Name}
	for _, o := range []struct {
		flag  string
		value time.Duration
		given bool
	}{{"work", p.Work, p.Work > 0}, {"ttl", p.TTL, p.TTL > 0}, {"wait", p.Wait, true}} {
		if o.given {
			servers = append(servers, fmt.Sprintf("--%s=%v", o.flag, o.value))
		}
	}
	if p.Scenario.Nested {
		servers = append(servers, "--nested")
	}
	for _, h := range p.Holds {
		servers = append(servers, "--hold="+h)
	}
	return strings.Join(append(servers, p.Engines...), " ")
}
