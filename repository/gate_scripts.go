package repository

import (
	_ "embed" // the scripts

	"github.com/redis/go-redis/v9"
)

// Each script stands in its own file, whose header names keys, arguments, replies and the redis-cli line that
// runs it. They are sent as EVALSHA, and as EVAL when the server does not know them (NOSCRIPT).
var (
	//go:embed admit.lua
	admitSource string
	//go:embed done.lua
	doneSource string
	//go:embed return.lua
	returnSource string
	//go:embed preheat.lua
	preheatSource string
	//go:embed adopt.lua
	adoptSource string
	//go:embed setstock.lua
	setStockSource string
	//go:embed forget.lua
	forgetSource string
	//go:embed bury.lua
	burySource string
	//go:embed leave.lua
	leaveSource string

	admitScript    = redis.NewScript(admitSource)
	doneScript     = redis.NewScript(doneSource)
	returnScript   = redis.NewScript(returnSource)
	preheatScript  = redis.NewScript(preheatSource)
	adoptScript    = redis.NewScript(adoptSource)
	setStockScript = redis.NewScript(setStockSource)
	forgetScript   = redis.NewScript(forgetSource)
	buryScript     = redis.NewScript(burySource)
	leaveScript    = redis.NewScript(leaveSource)
)
