package lock

import "embed"

// Sources are the files of this package without its tests, for whoever shows them to a reader.
//
//go:embed sources.go acquire.lua acquire_fenced.lua asking.go background.go client.go getlock.go grace.go
//go:embed hash.go holds.go incr.go key.go lease.go leased.go lock.go locker.go node.go none.go observer.go
//go:embed options.go quorum.go redislock.go redlock.go reentrant_lock.lua reentrant_simple.go
//go:embed reentrant_simple_lock.lua reentrant_simple_unlock.lua reentrant_unlock.lua registry.go release.go
//go:embed release.lua renew.lua renewer.go replicas.go script.go setnx_expire.go signals.go simple.go
//go:embed step01_mutex.go step02_setnx.go step03_expire.go step04_lua.go step05_reentrant.go
//go:embed step06_watchdog.go step07_fenced.go subscription.go sweeper.go token.go unlock.lua votes.go
//go:embed waiting.go
var Sources embed.FS
