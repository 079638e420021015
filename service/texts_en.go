package service

// textsEN are the stages' texts in English, in the order of the ladder.
var textsEN = map[string]Text{
	"none": {
		Fixes: "Nothing. Each request reads the stock, works, and writes back the number it read minus one. " +
			"Every other stage is measured against this one.",
		StillBreaks: "Two requests read 10, both write 9 and both insert an order: two orders for one unit. " +
			"Two clicks of one user both find no order yet, so both are accepted.",
		Question: "Does the stock column ever go below zero, and which number shows the oversell? " +
			"Run `seckill compare --stages none --scenarios single`.",
		Answer: "It never does: whoever writes has read at least 1, and writes that number minus one. \"Stock below zero\" is " +
			"therefore no test for oversell; counting the orders against the initial stock is.",
	},
	"mutex": {
		Fixes: "A mutex per voucher makes read, work, write and commit one step inside one process, so the next request reads " +
			"what the last one wrote. This is synchronized(this) of the articles.",
		StillBreaks: "The mutex lives in the memory of one process. With two processes each has its own: a request in A and a request " +
			"in B read 10 at the same time and both write 9.",
		Question: "The code stays the same and a second process is started. What changes? " +
			"Run `seckill compare --stages mutex --scenarios single,multi`.",
		Answer: "One process sells exactly the stock; two oversell and give one user two orders. Requests of different processes " +
			"never meet at the same mutex, so the lock has to live where both processes can see it.",
	},
	"mutex-early": {
		Fixes: "Nothing over mutex: it is the common mistake of unlocking inside the transaction function, before the commit. " +
			"The waiting is there, the protection is not.",
		StillBreaks: "A reads 10 and unlocks; B locks and reads 10, because A has not committed; both write 9. One process is enough.",
		Question: "There is one process and one mutex, and every request takes it. Why does it oversell? " +
			"Run `seckill compare --stages mutex,mutex-early --scenarios single`.",
		Answer: "The write becomes visible at COMMIT, and the lock is gone by then. A lock has to cover everything from the first read " +
			"to the commit: lock, begin, commit, unlock, in that order.",
	},
	"mutex-late": {
		Fixes: "It unlocks after the commit, unlike mutex-early. But the transaction begins, and reads, before the lock is taken.",
		StillBreaks: "Under REPEATABLE READ the first plain read fixes the transaction's snapshot. B takes its snapshot, waits for the mutex " +
			"while A sells and commits, and then reads the stock from the old snapshot: it sees 10 and writes 9, as A did.",
		Question: "The stock is read while the lock is held. How can the value be out of date? " +
			"Run `seckill compare --stages mutex,mutex-late --scenarios single --db spawn`.",
		Answer: "The snapshot is older than the lock, and plain reads keep using it. Take the lock before BEGIN. MariaDB from 11.6.2 on " +
			"refuses the stale write with error 1020; SQLite admits one writer at a time, so the stage does not apply there.",
	},
	"mutex-user": {
		Fixes: "One mutex per voucher and user, found by name and dropped when its last holder leaves: users no longer wait for each other. " +
			"The stock is kept by the update itself (`WHERE stock > 0`). This is synchronized(userId.intern()).",
		StillBreaks: "Two clicks of one user that arrive at two processes take two different mutexes; both find no order and both insert one.",
		Question: "With two processes there are duplicates and yet no oversell. Why only one of the two? " +
			"Run `seckill compare --stages mutex-user --scenarios single,multi`.",
		Answer: "Two different things protect two different rules. The stock is guarded by the database, which all processes share; " +
			"one order per user is guarded by a mutex, which they do not share.",
	},
	"hash": {
		Fixes: "The lock moves to Redis, where all processes see it: check whether the hash is there, HSET it, EXPIRE it, and DEL it at the end. " +
			"This is the first version of the scheduled job's lock.",
		StillBreaks: "A and B both check before either sets, and both go on as holders. A process that dies between HSET and EXPIRE leaves " +
			"a lock without an expiry, and DEL removes whatever is there, also another holder's lock.",
		Question: "Every command of Redis is atomic. How can two holders be inside at once? " +
			"Run `seckill compare --stages hash --scenarios single,multi`.",
		Answer: "Each command is atomic; the sequence of them is not. Between the check and the HSET another client's check finds the key " +
			"still absent. Check and set have to be one command, or one script.",
	},
	"incr": {
		Fixes: "INCR sets and tells in one command: whoever gets a number up to the range (1) holds the lock. Its key is created with an expiry, " +
			"so that a crash does not block the lock for ever.",
		StillBreaks: "A and B find the key absent. A sets 0 and INCR gives it 1; then B sets 0 again and INCR gives it 1 as well: two holders. " +
			"A caller that got 2 never takes its count back, and whoever leaves deletes the counter under all others.",
		Question: "INCR never gives two callers the same number, so who gave two of them a 1? " +
			"Run `seckill compare --stages incr --scenarios single`.",
		Answer: "The SET before it did: it puts the counter back to 0 after another caller has counted itself in. A counter that others may " +
			"reset is not a lock.",
	},
	"setnx": {
		Fixes: "SETNX checks and sets in one command, and the key stands in Redis: one holder among all processes. The others wait and try again.",
		StillBreaks: "The key has no expiry and only its holder deletes it. A process that is killed while it holds the lock leaves it taken: " +
			"every later request answers busy, with stock left.",
		Question: "How long does it take until the sale goes on after a holder was killed? " +
			"Run `seckill compare --stages setnx --scenarios multi,crash`.",
		Answer: "For ever: nobody but the dead process would have sent the DEL. The verdict is stuck, which is not the same as busy: no holder " +
			"is alive and the lock is still taken long after the run. A lock needs an expiry of its own.",
	},
	"setnx-expire": {
		Fixes: "PEXPIRE after SETNX lets an abandoned lock lapse, and a UUID as its value lets the holder see whether the lock is still its own " +
			"before it deletes it.",
		StillBreaks: "A process killed between SETNX and PEXPIRE, or a wait that ends there, leaves a lock that never lapses. Work that takes longer than the TTL loses the lock " +
			"without knowing it, and between GET and DEL the lock may change hands.",
		Question: "There is an expiry now. Why does a crash still block the sale? " +
			"Run `seckill compare --stages setnx-expire,expire --scenarios crash`.",
		Answer: "The expiry is a second command, and the process was killed before sending it. Key and expiry have to be set by one command: " +
			"`SET key value NX PX ttl`.",
	},
	"setnx-repair": {
		Fixes: "A caller that fails to get the lock looks at its TTL and, where there is none (-1), sets one. The lock of a process that was killed " +
			"between the two commands lapses after all, as long as somebody calls.",
		StillBreaks: "The one who repairs does not hold the lock it changes. Between its look and its PEXPIRE the lock can change hands, and it then restarts " +
			"the TTL of another holder. Work longer than the TTL still loses the lock and oversells.",
		Question: "Who frees the lock after the crash, and what if nobody comes? " +
			"Run `seckill compare --stages setnx-expire,setnx-repair --scenarios crash`.",
		Answer: "The next caller that fails gives the key its missing TTL, and one TTL later the lock is free. Without callers it stays. " +
			"The repair works around two commands that should have been one.",
	},
	"expire": {
		Fixes: "`SET key value NX PX ttl` sets the key and its expiry at once, so a crash at any moment frees the lock after the TTL. " +
			"The articles use 10 s.",
		StillBreaks: "A works longer than the TTL; the lock lapses and B takes it. A finishes, and its plain DEL removes B's lock, so C enters while B " +
			"is still working. From then on each holder frees the next one's lock.",
		Question: "One holder is late. Why is it not just one order too many? " +
			"Run `seckill compare --stages expire,lua --scenarios slow` and look at the foreign releases.",
		Answer: "DEL does not ask whose lock it removes. One late release lets in a second holder, whose own release is then late too, and the lock " +
			"protects nothing any more. A release has to compare a token first.",
	},
	"token": {
		Fixes: "The value is a UUID. The release reads it, compares, and deletes only its own; a holder that is late usually finds another's token " +
			"and leaves it alone. This is sell2.",
		StillBreaks: "GET and DEL are two commands. A reads its own token; then its lease lapses and B takes the lock; A's DEL removes B's lock. " +
			"It takes an unlucky moment, so the scenario pauses A exactly there.",
		Question: "Would a load test without pauses ever find this? " +
			"Run `seckill compare --stages token,lua --scenarios late`.",
		Answer: "Hardly: the lease has to lapse within the moment between two commands. A hold point between GET and DEL shows it every time, " +
			"and shows that lua, which does both in one script, has no such moment.",
	},
	"lua-once": {
		Fixes: "The release compares and deletes in one script (`lock/unlock.lua`), so nothing can come between. The lock is tried once; whoever " +
			"fails is told so at once. This is SimpleRedisLock.",
		StillBreaks: "While one holder works, everybody else is refused. Most users are told busy although stock is left, and the sale ends " +
			"with units unsold.",
		Question: "Nothing is sold twice here. Is the stage correct? " +
			"Run `seckill compare --stages lua-once,lua --scenarios single`.",
		Answer: "No: it undersells. One attempt fits a lock on a user, where a second click shall be refused; on a voucher it turns buyers away. " +
			"A test that looks for oversell alone would call it a success.",
	},
	"lua": {
		Fixes: "The release compares its token and deletes in one script, so that a late holder never removes another's lock; and whoever does not get it tries again " +
			"at short random intervals. With enough time it sells exactly the stock in any number of processes.",
		StillBreaks: "The lease ends at its TTL whether the work is done or not: a holder that works longer goes on beside the next one, and both " +
			"write the number they read. A method that holds the lock and calls another that takes it waits for itself.",
		Question: "The release is right and the waiting is right. What is left to go wrong? " +
			"Run `seckill compare --stages lua --scenarios multi,slow,nested`.",
		Answer: "Slow oversells, because the lock lapses in the middle of the work and nobody renews it. Nested sells nothing, because the lock does not " +
			"know that the inner caller already holds it.",
	},
	"wrong-key": {
		Fixes:       "Nothing: it is lua with a key that contains a random part of the request. The lock itself works.",
		StillBreaks: "No two requests ever ask for the same key, so nobody waits and the stage oversells as none does.",
		Question: "Every request takes a lock and releases it correctly. What does the lock exclude? " +
			"Run `seckill compare --stages none,wrong-key --scenarios single`.",
		Answer: "Nobody. A lock protects only among those who use the same key, and the key has to name what is shared: " +
			"the voucher for its stock, the user for one order per user.",
	},
	"user-lock": {
		Fixes: "The one-order flow of createVoucherOrder: under a lock on the user, check the order, take a unit `WHERE stock > 0`, save the order. " +
			"Users do not wait for each other, in any number of processes, and a second click is answered order_in_progress at once.",
		StillBreaks: "The lock is a lease without renewal. If it lapses between the check and the save, a click that comes in that gap finds no order " +
			"and saves a second one. A unique index would close the gap.",
		Question: "The lease may lapse in slow. Why can this stage give a user two orders and still never oversell? " +
			"Run `seckill compare --stages user-lock,lua --scenarios multi,slow`.",
		Answer: "The stock does not depend on the lock: check and decrement are one UPDATE in the database. Only the rule of one order per user " +
			"stands on the lease.",
	},
	"reentrant-simple": {
		Fixes: "The lock is a hash of owner and count. An owner that asks again adds one, each release takes one off, and the last one deletes the key: " +
			"a method that holds the lock may call another that takes it. Two short scripts that answer 1 or 0.",
		StillBreaks: "EXPIRE counts whole seconds, so no shorter lease is possible; waiters have to poll, since nothing tells them of a release; and nobody " +
			"renews, so work longer than the TTL oversells.",
		Question: "The outer method checks the order and calls the inner one that saves; both lock. Who waits for whom? " +
			"Run `seckill compare --stages lua,reentrant-simple --scenarios nested`.",
		Answer: "With lua the inner call waits for its own outer call, until it gives up. With a count the inner call is recognised as the same owner " +
			"and goes on at once. Here the owner is known by the lease in the context, not by a thread.",
	},
	"reentrant": {
		Fixes: "Redisson's scripts: the hash field is `uuid:owner`, a refused acquire is told the remaining time, and the release publishes a message. " +
			"Waiters sleep until they are woken, and re-entry works.",
		StillBreaks: "Nobody renews the lease: work longer than the TTL runs beside the next holder and oversells. And HINCRBY is no command to send twice: " +
			"if its reply is lost and the client retries, the count is 2, and one release leaves the lock taken until its TTL.",
		Question: "Nested calls work now. Which weather still breaks it? " +
			"Run `seckill compare --stages lua,reentrant --scenarios nested,slow`.",
		Answer: "Slow does, exactly as with lua: counting entries says nothing about time. The lease still ends in the middle of the work.",
	},
	"watchdog": {
		Fixes: "A watchdog renews the lease (30 s) every third of its TTL (10 s) while the process lives, so slow work keeps its lock and a crash still frees it. " +
			"When the lease is lost, the work is told: its context ends and it writes nothing.",
		StillBreaks: "A stopped process renews nothing. A passes its last check and is stopped before COMMIT; the lease lapses, B sells the unit; " +
			"A continues and commits the number it had worked out before.",
		Question: "The work checks its lease right before COMMIT. Why is that not enough? " +
			"Run `seckill compare --stages watchdog --scenarios slow,late`.",
		Answer: "The process may stop between the check and the COMMIT, for a garbage collection, a suspended machine or a SIGSTOP, for longer than the TTL. " +
			"No check in the client can close that gap; the one who stores the data has to refuse the late write.",
	},
	"redislock": {
		Fixes: "The library bsm/redislock instead of our own scripts: token, compare-and-delete, compare-and-renew and retry strategies. A small loop " +
			"around it renews and stops the work when the lease is lost.",
		StillBreaks: "What it leaves to its user: the renewal, the end of the work on loss, re-entry (a nested call waits for itself) and a fencing token. " +
			"A holder that is stopped before COMMIT writes late, as with watchdog.",
		Question: "Which of the scenarios tells a library lock with renewal from our watchdog? " +
			"Run `seckill compare --stages watchdog,redislock --scenarios slow,late,nested`.",
		Answer: "Only nested: the library's lock has no notion of an owner that comes back. Under slow work both hold; against a stopped holder both fail, " +
			"because neither has a token that the database checks.",
	},
	"redlock": {
		Fixes: "The lock is taken on a majority of independent Redis nodes (3 of 5), so the loss of a minority neither frees it nor blocks it. " +
			"It is renewed like watchdog.",
		StillBreaks: "It is still a lease: a holder that is stopped before COMMIT writes late, as with watchdog. There is no fencing token that grows across the nodes.",
		Question: "Five nodes instead of one: does that help a process that was stopped? " +
			"Run `seckill compare --stages watchdog,redlock --scenarios multi,late`.",
		Answer: "No. More nodes protect against the loss of a Redis node. They know as little as one node does about a client that believes " +
			"it still holds the lock.",
	},
	"fenced": {
		Fixes: "Each new holder gets a larger number, the fencing token. It first writes it into the stock row (`SET fence = t WHERE fence < t`), then reads; " +
			"its update says `AND fence = t`. A late holder's update finds another token, changes no row and is rolled back.",
		StillBreaks: "No order is wrong any more, but a killed holder still blocks the voucher until its lease lapses: buyers whose wait ends earlier leave with busy. " +
			"And it protects only what checks the token: a mail or a payment sent by a stopped holder is not held back.",
		Question: "Why does the holder claim the row before it reads? Would a check of the token in the final write not do? " +
			"Run `seckill compare --stages watchdog,fenced --scenarios late`.",
		Answer: "It would not: A (token 1) reads 10 and stops, B (token 2) reads 10; A wakes and writes 9 first, which nothing forbids yet, then B writes 9. " +
			"With the claim first, B's token is in the row before B reads, so A's write either came before that read or is refused.",
	},
	"get-lock": {
		Fixes: "The database's own lock, GET_LOCK: no Redis and no TTL. It belongs to a connection; when a process dies, the server closes " +
			"its connection and frees the lock.",
		StillBreaks: "Every holder and every waiter occupies a connection, so they need a pool of their own, or the waiters would keep the holder from its transaction. " +
			"A nested call uses another connection and waits for itself, and a cut connection frees the lock under a running holder.",
		Question: "What frees the lock after a crash, when there is no TTL? " +
			"Run `seckill compare --stages get-lock --scenarios multi,slow,crash --db spawn`.",
		Answer: "The connection: the operating system closes a dead process's sockets, and the server drops the session with its locks. " +
			"So slow work loses nothing and a crash costs no waiting time. The price is one open connection per waiter.",
	},
	"for-update": {
		Fixes: "`SELECT … FOR UPDATE` reads the stock and locks its row until COMMIT. Lock and data live and end together, so there is no lease " +
			"that could lapse; a crash rolls back.",
		StillBreaks: "The result is right; the price is the queue. The row is locked during the work as well, so a voucher sells one order per working time, " +
			"and each waiting request occupies a database connection. SQLite has no row locks, so the stage does not apply there.",
		Question: "With 5 ms of work, how many orders a second can one voucher sell at most? " +
			"Run `seckill compare --stages for-update,conditional --scenarios multi --db spawn`.",
		Answer: "Fewer than 200, since the row is locked for at least 5 ms per order, however many processes there are. conditional works before its " +
			"transaction and locks the row only for the two writes.",
	},
	"cas": {
		Fixes: "No lock: the update says `WHERE version = the one I read`. Whoever comes second changes no row and knows it. It never oversells, " +
			"in any number of processes.",
		StillBreaks: "Of all requests that read the same version one wins, and the others are told that they lost although stock is left: it undersells.",
		Question: "There are more buyers than units. How can units be left over? " +
			"Run `seckill compare --stages cas,cas-retry --scenarios single`.",
		Answer: "A lost race is no sign of an empty stock, but without a retry it ends the request. With 64 requests at a time about one in each round sells, " +
			"and the users run out before the units do.",
	},
	"cas-retry": {
		Fixes: "A request that lost the race reads again and tries again, a bounded number of times after a short random pause. It sells the whole stock.",
		StillBreaks: "The result is right; latency pays for it: each lost round repeats the read and the work. " +
			"When the retries are spent the answer is gave_up, not sold out.",
		Question: "What does a retry cost when many want the same row? " +
			"Run `seckill compare --stages cas-retry,conditional --scenarios single` and compare the latencies.",
		Answer: "Per round one request wins and the others have worked for nothing, so the slowest buyers work many times. Optimistic control " +
			"fits rows that are rarely contended; a flash sale is the opposite.",
	},
	"conditional": {
		Fixes: "No lock service at all: `UPDATE … SET stock = stock - 1 WHERE stock > 0` checks and takes in one statement, a unique index allows one order per user, " +
			"and one transaction holds both. No lease can lapse, no holder can be late, and nobody waits for a dead one.",
		StillBreaks: "None of these scenarios. Its limit is load: every request, also one that will be told sold out, reaches the database, and all sales " +
			"of a voucher queue for one row.",
		Question: "Nobody takes a lock. What keeps two processes apart? " +
			"Run `seckill compare --stages fenced,conditional --scenarios multi,late,crash`.",
		Answer: "The database: an UPDATE locks the row, tests the condition on its current value and keeps the lock until COMMIT; a second order of one user fails " +
			"at the unique index. When a process dies, its connection ends and the database rolls back, so the others go on at once.",
	},
	"skip-locked": {
		Fixes: "Each unit of stock is a row of its own. A buyer takes the first row that nobody has locked (`FOR UPDATE SKIP LOCKED`), so buyers work side by side, " +
			"even with long transactions.",
		StillBreaks: "The result is right. It needs one row per unit, and a buyer may come while every free unit is locked by somebody else: that is busy, not sold out, " +
			"because those transactions may still roll back. SQLite has no row locks, so the stage does not apply there.",
		Question: "What happens to each stage's throughput when the work inside the transaction takes 50 ms? " +
			"Run `seckill compare --stages for-update,skip-locked --scenarios multi --work 50ms --db spawn`.",
		Answer: "for-update sells at most 20 orders a second, because all wait for one row. skip-locked locks a different row for each buyer, " +
			"so as many orders are in work as there are workers.",
	},
	"gate": {
		Fixes: "A script in Redis admits one order per user, and no more users than there are units, before the database is asked. Whoever comes too late is told so " +
			"without any database work; whoever is admitted writes the order as conditional does.",
		StillBreaks: "The stock is now counted in two places. When the transaction fails, the unit has to be given back, once; when the process dies in between, " +
			"it stays in flight until the reconciler compares Redis with the database. An admitted request still waits for the database.",
		Question: "What does a request cost the database after the voucher is sold out? " +
			"Run `seckill compare --stages conditional,gate --scenarios multi` and compare the latencies of the refused.",
		Answer: "With conditional a failed UPDATE or a read each time; with gate nothing, as the script answers from memory. In a flash sale nearly all requests " +
			"are refused, so this is where most of the work goes away.",
	},
	"stream": {
		Fixes: "One script admits the order and appends it to a Redis stream, so no process can die between the two. The client gets 202 at once; workers write the orders " +
			"in batches at the pace that the database bears, and what a dead worker left is claimed by another.",
		StillBreaks: "The answer is a promise: the client has to ask for the order's state, and an order can still fail, in which case its unit goes back. " +
			"What Redis has accepted and not yet written is as durable as Redis is.",
		Question: "A worker may be killed after it has written an order and before it has acknowledged it. Is the order written twice? " +
			"Run `seckill compare --stages gate,stream --scenarios multi,crash`.",
		Answer: "No. The message is delivered again, but the order's id was given at admission, so the second insert meets the first one's key and is acknowledged as done. " +
			"Delivery at least once and a write that can be repeated make exactly one order.",
	},
}
