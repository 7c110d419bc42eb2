package config

import "slices"

// nearest gives the known key that key was most likely meant to be, or "".
func nearest(key string, known []string) string {
	best, bestD := "", max(2, len(key)/3)+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(key, k); d < bestD && d < len(k) {
			best, bestD = k, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, substitutions and swaps of neighbours that turn a into b.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
