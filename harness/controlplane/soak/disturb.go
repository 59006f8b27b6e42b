package main

import (
	"math/rand"
	"time"
)

// disturb kills and restarts the controller manager, or pauses it, at random moments until done.
func disturb(c *Cluster, seed int64, done, stopped chan struct{}) {
	defer close(stopped)
	g := rand.New(rand.NewSource(seed))
	seconds := func(low, high float64) time.Duration {
		return time.Duration((low + (high-low)*g.Float64()) * float64(time.Second))
	}
	for {
		select {
		case <-done:
			return
		case <-time.After(seconds(4, 16)):
		}
		if g.Float64() < 0.25 {
			c.pauseController(seconds(1.5, 12))
			continue
		}
		c.killController()
		time.Sleep(seconds(0, 4))
		if err := c.startController(); err != nil {
			panic(err)
		}
	}
}
