package main

import (
	_ "github.com/alicebob/miniredis/v2"
	_ "github.com/anishathalye/porcupine"
	_ "github.com/bsm/redislock"
	_ "github.com/gin-gonic/gin"
	_ "github.com/glebarez/sqlite"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/golang-jwt/jwt/v5"
	_ "github.com/pressly/goose/v3"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/require"
	_ "github.com/tsenart/vegeta/v12/lib"
	_ "go.uber.org/goleak"
	_ "golang.org/x/sync/errgroup"
	_ "gorm.io/driver/mysql"
	_ "gorm.io/gorm"
	_ "pgregory.net/rapid"
)
