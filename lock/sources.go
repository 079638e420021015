package lock

import "embed"

// Sources are the files of this package without its tests, for whoever shows them to a reader.
//
//go:embed sources.go acquire.lua acquire_fenced.lua asking.go background.go client.go deadlines.go getlock.go grace.go
//go:embed guard_claim.lua guard_redis.go guard_sql.go guard_write.lua hash.go holds.go incr.go key.go
//go:embed lease.go leased.go lock.go locker.go node.go none.go observer.go observers.go options.go quorum.go
//go:embed redislock.go redlock.go reentrant_lock.lua reentrant_simple.go reentrant_simple_lock.lua
//go:embed reentrant_simple_unlock.lua reentrant_unlock.lua registry.go release.go release.lua renew.lua
//go:embed renewer.go replicas.go script.go setnx_expire.go share.go signals.go simple.go step01_mutex.go
//go:embed step02_setnx.go step03_expire.go step04_lua.go step05_reentrant.go step06_watchdog.go
//go:embed step07_fenced.go subscription.go sweeper.go token.go trail.go unlock.lua votes.go waiting.go
var Sources embed.FS
