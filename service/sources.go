package service

import "embed"

// Sources are this package's own files, for the page and for seckill show. The build leaves tests out by their names.
//
//go:embed admission.go admission_path.go audit.go cache.go claims.go errors.go flow.go group.go idempotency.go job.go jobs.go ladder.go life.go life_store.go model.go parts.go place.go preheat.go reconcile.go reconcile_voucher.go sell.go soldout.go sources.go spans.go stage.go stock.go store.go texts.go texts_en.go texts_zh.go vouchers.go worker.go worker_batch.go worker_replay.go
var Sources embed.FS
