package service

import "embed"

// Sources are this package's own files, for the page and for seckill show. The build leaves tests out by their names.
//
//go:embed admission.go audit.go cache.go claims.go errors.go flow.go job.go ladder.go life_store.go model.go parts.go place.go sell.go sources.go spans.go stage.go stock.go store.go texts.go texts_en.go texts_zh.go vouchers.go
var Sources embed.FS
