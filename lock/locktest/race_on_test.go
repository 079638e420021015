//go:build race

package locktest

const sideBySide = 6 // everything takes several times as long
