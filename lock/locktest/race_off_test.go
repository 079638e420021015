//go:build !race

package locktest

const sideBySide = 16
