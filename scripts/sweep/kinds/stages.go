// Kinds of work in turns, with garbage: the Go program of scripts/sweep/kinds.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

const HOT, ALL = 100, 100

type row struct {
	number, value int
	name          string
}

func turns(count int) int { return count * ALL / 100 }

//go:noinline
func generate(seed uint32) []string {
	var lines []string
	for turn := 0; turn < turns(20); turn++ {
		lines = nil
		for number := 0; number < 60; number++ {
			seed = seed*1664525 + 1013904223
			lines = append(lines, strconv.Itoa(number)+",name-"+strconv.Itoa(int(seed>>8)%97)+","+strconv.Itoa(int(seed>>8)%1000))
		}
	}
	return lines
}

//go:noinline
func parse(lines []string) []*row {
	var rows []*row
	for turn := 0; turn < turns(20); turn++ {
		rows = nil
		for _, line := range lines {
			parts := strings.Split(line, ",")
			number, _ := strconv.Atoi(parts[0])
			value, _ := strconv.Atoi(parts[2])
			rows = append(rows, &row{number, value, parts[1]})
		}
	}
	return rows
}

//go:noinline
func group(rows []*row) map[string][]int {
	var groups map[string][]int
	for turn := 0; turn < turns(20); turn++ {
		groups = map[string][]int{}
		for _, row := range rows {
			groups[row.name] = append(groups[row.name], row.value*row.number)
		}
	}
	return groups
}

//go:noinline
func smooth(groups map[string][]int) map[string]float64 {
	smoothed := map[string]float64{}
	for turn := 0; turn < turns(20); turn++ {
		for name, values := range groups {
			last := 0.0
			for _, value := range values {
				last = 0.9*last + 0.1*float64(value)
			}
			smoothed[name] = last
		}
	}
	return smoothed
}

//go:noinline
func render(smoothed map[string]float64) int {
	length := 0
	for turn := 0; turn < turns(10); turn++ {
		var rows []string
		for name, value := range smoothed {
			rows = append(rows, fmt.Sprintf("%20s%16.3f", name, value))
		}
		length += len(strings.Join(rows, "\n"))
	}
	return length
}

//go:noinline
func checksum(text string) uint32 { // hot
	var total uint32
	for turn := 0; turn < turns(200*HOT/100); turn++ {
		for n := 0; n < 600; n++ {
			total = total*31 + uint32(text[n])
		}
	}
	return total
}

//go:noinline
func order(rows []*row) int {
	first := 0
	for turn := 0; turn < turns(20); turn++ {
		values := make([]int, len(rows))
		for n, row := range rows {
			values[n] = row.value ^ turn
		}
		sort.Ints(values)
		first += values[7]
	}
	return first
}

//go:noinline
func bits(rows []*row) int {
	count := 0
	for turn := 0; turn < turns(100); turn++ {
		for _, row := range rows {
			for left := row.value + turn; left != 0; left &= left - 1 {
				count++
			}
		}
	}
	return count
}

//go:noinline
func sumOf(lines []string) uint32 {
	text := strings.Join(lines, "")
	total := checksum(text) // call
	return total
}

//go:noinline
func workStage(rows []*row) int {
	return order(rows) + bits(rows) + render(smooth(group(rows)))
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	total := 0
	for turn := 0; turn < rounds; turn++ {
		lines := generate(uint32(turn))
		total += int(sumOf(lines)) + workStage(parse(lines))
	}
	fmt.Println(total)
}
