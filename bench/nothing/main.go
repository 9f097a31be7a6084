// Command nothing does nothing: what the start of every Go program takes.
package main

func main() {}
