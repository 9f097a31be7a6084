package test

import (
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// standing are the clusters that tests have made and not taken down yet.
type standing struct {
	mu       sync.Mutex // guards what follows
	clusters map[*cluster]bool
}

var stand = standing{clusters: map[*cluster]bool{}}

func (s *standing) add(c *cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clusters[c] = true
}

func (s *standing) remove(c *cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clusters, c)
}

// takeDownWhenStopped takes down what is standing when the tests are told to end, and ends them. A shell starts background jobs with
// SIGINT ignored, nohup its program with SIGHUP, and our children would inherit that; what is caught, they do not.
func takeDownWhenStopped() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGINT, syscall.SIGTERM)
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	go func() {
		<-told
		if syscall.Getpgrp() == os.Getpid() { // the commands that run now are told as well; Ctrl-C of a terminal tells all
			_ = syscall.Kill(0, syscall.SIGTERM)
		}
		stand.takeDown()
		os.Exit(130)
	}()
}

func (s *standing) takeDown() {
	s.mu.Lock() // no test makes another one
	var all sync.WaitGroup
	for c := range s.clusters {
		all.Go(func() {
			for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(time.Second) { // another command may just be ending
				made, _ := filepath.Glob(filepath.Join(c.home, "*", "cluster.json"))
				if c.command("down", "--delete-data", "--yes").Run() == nil || len(made) == 0 {
					_ = os.RemoveAll(filepath.Dir(c.home))
					return
				}
			}
		})
	}
	all.Wait()
	removeScratch()
}
