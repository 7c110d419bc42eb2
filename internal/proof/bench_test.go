package proof

import (
	"fmt"
	"testing"
)

// BenchmarkCheck checks a table of many snapshots, each with some rows of its own.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []struct{ snapshots, rows int64 }{{1000, 10}, {50, 20_000}} {
		b.Run(fmt.Sprintf("%d snapshots of %d rows", n.snapshots, n.rows), func(b *testing.B) {
			m := newMaker(b)
			g := Generated{Seed: 1, Ends: []int64{n.snapshots * n.rows}}
			m.truth, m.quiet = g, true
			m.append("a", []int64{0})
			for i := range n.snapshots {
				m.append("a", []int64{(i + 1) * n.rows}, m.file(m.rowsOf(0, i*n.rows, (i+1)*n.rows)...))
			}
			b.ReportAllocs()
			for b.Loop() {
				r, err := Check(b.Context(), m.table(), g, Options{Topologies: []string{"a"}, Topic: "orders", Partitions: 1, Whole: true})
				if err != nil || r.Err() != nil || r.Rows != n.snapshots*n.rows {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(n.snapshots*n.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
