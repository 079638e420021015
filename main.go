// Command seckill teaches, measures and serves flash sales of vouchers.
package main

func main() {}
