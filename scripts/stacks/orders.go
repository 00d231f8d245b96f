// As orders.c: orders SECONDS [GOROUTINES].
package main

import (
	"os"
	"strconv"
	"sync"
	"time"
)

//go:noinline
func orders_work(parts int) uint64 {
	x := uint64(88172645463325252)
	for n := parts * 40000; n > 0; n-- {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func orders_parse() uint64 { return orders_work(1) + 1 }

//go:noinline
func orders_price() uint64 { return orders_work(2) + 1 }

//go:noinline
func orders_report() uint64 { return orders_work(5) + 1 }

//go:noinline
func orders_run(until time.Time) (sum uint64) {
	for time.Now().Before(until) {
		sum += orders_parse() + orders_price() + orders_report()
	}
	return sum
}

var kept uint64

func number(at int, other float64) float64 {
	if len(os.Args) > at {
		if found, err := strconv.ParseFloat(os.Args[at], 64); err == nil {
			return found
		}
	}
	return other
}

func main() {
	until := time.Now().Add(time.Duration(number(1, 2) * 1e9))
	goroutines := int(number(2, 0))
	if goroutines == 0 {
		kept = orders_run(until)
	}
	var all sync.WaitGroup
	for n := 0; n < goroutines; n++ {
		all.Add(1)
		go func() {
			defer all.Done()
			// Each does a part, and hands over to the next.
			for time.Now().Before(until) {
				orders_run(time.Now().Add(time.Millisecond))
				time.Sleep(time.Millisecond)
			}
		}()
	}
	all.Wait()
}
