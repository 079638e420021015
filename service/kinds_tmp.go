package service

// lockKinds stands in for lock.Kinds until package lock has it.
var lockKinds = []string{
	"none", "mutex", "hash", "incr", "setnx", "setnx-expire", "setnx-repair", "expire", "token", "lua",
	"reentrant-simple", "reentrant", "watchdog", "redislock", "redlock", "fenced", "get-lock",
}
