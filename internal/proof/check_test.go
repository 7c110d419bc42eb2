package proof

import (
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAGoodTableHasNoFindings(t *testing.T) {
	m := newMaker(t)
	m.good()
	r := m.check(options("a"))
	m.want(r)
	if r.Err() != nil || r.Snapshots != 4 || r.Rows != 12 {
		t.Errorf("%v, %v", r, r.Err())
	}
	if got := r.String(); got != "12 rows in 4 snapshots: 0 lost, 0 doubled, 0 altered" {
		t.Error(got)
	}
}

// TestEachKindIsFound makes a table wrong in one way and names what must be found, and in which snapshot.
func TestEachKindIsFound(t *testing.T) {
	for _, c := range []struct {
		name string
		// wrong is made on top of the usual beginning, at the positions 8 and 5.
		wrong func(m *maker, files []iceberg.DataFile) []Finding
		o     func(*Options)
	}{
		{name: "a row is missing", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{11, 5}, m.file("0/8", "0/10"))
			m.append("a", []int64{12, 5}, m.file("0/11"))
			return []Finding{{Kind: Lost, Partition: 0, Position: 9, Snapshot: s}}
		}},
		{name: "positions move without rows", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{10, 5})
			return []Finding{{Lost, 0, 8, s, ""}, {Lost, 0, 9, s, ""}}
		}},
		{name: "rows without positions", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{8, 5}, m.file("0/8"))
			m.append("a", []int64{9, 5}, m.file("0/8")) // it brings what its positions say
			return []Finding{{Early, 0, 8, s, ""}}
		}},
		{name: "a row twice in one snapshot", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{9, 5}, m.file("0/8"), m.file("0/8"))
			return []Finding{{Doubled, 0, 8, s, ""}}
		}},
		{name: "a row again", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{9, 5}, m.file("0/8", "1/1"))
			return []Finding{{Doubled, 1, 1, s, ""}}
		}},
		{name: "a file again", wrong: func(m *maker, files []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{8, 5}, files[2])
			return []Finding{{Doubled, 1, 2, s, ""}, {Doubled, 1, 3, s, ""}, {Doubled, 1, 4, s, ""}}
		}},
		{name: "another payload", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			f := m.file("0/8=x")
			s := m.append("a", []int64{9, 5}, f)
			m.rewrite([]iceberg.DataFile{f}, []iceberg.DataFile{m.file("0/8=x")}) // said once
			return []Finding{{Altered, 0, 8, s, ""}}
		}},
		{name: "a row of what is none", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{8, 7}, m.file("1/5", "1/6", "7/0", "0/99"))
			return []Finding{{Foreign, 1, 6, s, ""}, {Foreign, 7, 0, s, ""}, {Foreign, 0, 99, s, ""}}
		}},
		{name: "a position goes back", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{7, 5})
			n := m.append("a", []int64{9, 5}, m.file("0/7", "0/8"))
			return []Finding{{Backward, 0, 7, s, ""}, {Doubled, 0, 7, n, ""}}
		}},
		{name: "a position is gone", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{8})
			return []Finding{{Backward, 1, 0, s, ""}}
		}},
		{name: "a position is set, and nobody said so", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			m.starts["a"] = []int64{10, 0}
			s := m.append("a", []int64{10, 5})
			return []Finding{{Lost, 0, 8, s, ""}, {Lost, 0, 9, s, ""}}
		}},
		{name: "another topology's entry is gone", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			delete(m.at, "a")
			s := m.append("b", []int64{0, 0})
			return []Finding{{Backward, 0, 0, s, ""}, {Backward, 1, 0, s, ""}}
		}},
		{name: "another engine appends", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("", nil, m.file("0/2", "0/15"))
			return []Finding{{Doubled, 0, 2, s, ""}, {Early, 0, 15, s, ""}}
		}},
		{name: "another engine deletes", wrong: func(m *maker, files []iceberg.DataFile) []Finding {
			s := m.rewrite(files[:1], []iceberg.DataFile{m.file("0/0", "0/1", "1/1")})
			return []Finding{{Vanished, 0, 2, s, ""}, {Vanished, 1, 0, s, ""}}
		}},
		{name: "a compaction doubles a row", wrong: func(m *maker, files []iceberg.DataFile) []Finding {
			s := m.rewrite(files[2:], []iceberg.DataFile{m.file("1/2", "1/3", "1/3", "1/4")})
			return []Finding{{Doubled, 1, 3, s, ""}}
		}},
		{name: "a file is not there", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			f := m.file("0/8")
			s := m.append("a", []int64{9, 5}, f)
			_ = m.files.Remove(f.FilePath())
			return []Finding{{Dangling, 0, 0, s, ""}, {Lost, 0, 8, s, ""}}
		}},
		{name: "a file is torn", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			f := m.file("0/8")
			s := m.append("a", []int64{9, 5}, f)
			_ = m.files.WriteFile(f.FilePath(), make([]byte, f.FileSizeBytes()))
			return []Finding{{Dangling, 0, 0, s, ""}, {Lost, 0, 8, s, ""}}
		}},
		{name: "a manifest is not there", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{9, 5}, m.file("0/8"))
			list, err := m.table().CurrentSnapshot().Manifests(m.files)
			if err != nil {
				m.t.Fatal(err)
			}
			for _, mf := range list {
				if mf.SnapshotID() == s {
					_ = m.files.Remove(mf.FilePath())
				}
			}
			return []Finding{{Dangling, 0, 0, s, ""}, {Lost, 0, 8, s, ""}}
		}},
		{name: "a manifest list is not there", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{9, 5}, m.file("0/8"))
			_ = m.files.Remove(m.table().CurrentSnapshot().ManifestList)
			return []Finding{{Dangling, 0, 0, s, ""}}
		}},
		{name: "a file has fewer rows than it should", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{9, 5}, m.claim(m.file("0/8"), 2, 0))
			return []Finding{{Dangling, 0, 0, s, ""}}
		}},
		{name: "a file has another size", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{9, 5}, m.claim(m.file("0/8"), 1, 1))
			return []Finding{{Dangling, 0, 0, s, ""}, {Lost, 0, 8, s, ""}}
		}},
		{name: "a row without a payload", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{9, 5}, m.file("0/8=NULL"))
			return []Finding{{Altered, 0, 8, s, ""}}
		}},
		{name: "rows are hidden by a delete file", wrong: func(m *maker, files []iceberg.DataFile) []Finding {
			s := m.hide(files[0])
			return []Finding{{Vanished, 0, 0, s, ""}}
		}},
		{name: "the topic is another one", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			m.cluster = "another"
			s := m.append("a", []int64{8, 5})
			return []Finding{{Backward, 0, 8, s, ""}, {Backward, 1, 5, s, ""}}
		}},
		{name: "a row of the first snapshot", wrong: func(m *maker, files []iceberg.DataFile) []Finding {
			m.expire()
			_ = m.files.Remove(files[1].FilePath())
			return []Finding{{Dangling, 0, 0, m.last, ""}, {Lost, 0, 3, m.last, ""}, {Lost, 0, 4, m.last, ""}, {Lost, 0, 5, m.last, ""},
				{Lost, 0, 7, m.last, ""}}
		}},
		{name: "the counts say something else", wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			m.filteredMore = 1
			s := m.append("a", []int64{9, 5}, m.file("0/8"))
			return []Finding{{Miscounted, 0, 9, s, ""}, {Miscounted, 1, 5, s, ""}}
		}},
		{name: "beyond the end", o: func(o *Options) { o.Whole = true }, wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			m.append("a", []int64{20, 20}, m.file(rowsOf(0, 8, 20)...), m.file(rowsOf(1, 5, 20)...))
			s := m.append("a", []int64{21, 20})
			return []Finding{{Early, 0, 21, s, ""}}
		}},
		{name: "behind", o: func(o *Options) { o.Whole = true }, wrong: func(m *maker, _ []iceberg.DataFile) []Finding {
			s := m.append("a", []int64{20, 19}, m.file(rowsOf(0, 8, 20)...), m.file(rowsOf(1, 5, 19)...))
			return []Finding{{Behind, 1, 19, s, ""}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker(t)
			want := c.wrong(m, m.good())
			o := options("a")
			if c.o != nil {
				c.o(&o)
			}
			r := m.check(o)
			m.want(r, want...)
			if r.Err() == nil || r.Count[want[0].Kind] == 0 || !strings.Contains(r.Err().Error(), string(want[0].Kind)) {
				t.Errorf("the report says %v", r.Err())
			}
		})
	}
}

func TestACompactionThatKeepsEveryRow(t *testing.T) {
	m := newMaker(t)
	files := m.good()
	m.rewrite(files[:2], []iceberg.DataFile{m.file(append(rowsOf(0, 0, 8), rowsOf(1, 0, 2)...)...)})
	m.append("a", []int64{9, 5}, m.file("0/8"))
	r := m.check(options("a"))
	m.want(r)
	if r.Rows != 13 {
		t.Errorf("%d rows", r.Rows)
	}
}

// TestTheOldestRetainedSnapshot expires what came before, in all the places from which positions can come.
func TestTheOldestRetainedSnapshot(t *testing.T) {
	compact := func(m *maker, files []iceberg.DataFile) {
		m.rewrite(files[2:], []iceberg.DataFile{m.file(rowsOf(1, 2, 5)...)})
	}
	for _, c := range []struct {
		name string
		make func(m *maker, files []iceberg.DataFile)
	}{
		{"its own", func(m *maker, _ []iceberg.DataFile) { m.expire() }},
		{"the property", func(m *maker, files []iceberg.DataFile) {
			m.apply(table.NewSetPropertiesUpdate(iceberg.Properties{keyPositions + ".main": m.value(m.last)}))
			compact(m, files)
			m.expire()
			m.forget()
		}},
		{"the metadata log", func(m *maker, files []iceberg.DataFile) {
			compact(m, files)
			m.expire()
		}},
		{"nowhere", func(m *maker, files []iceberg.DataFile) {
			compact(m, files)
			m.expire()
			m.forget()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker(t)
			c.make(m, m.good())
			m.append("a", []int64{9, 5}, m.file("0/8"))
			m.want(m.check(options("a")))
			s := m.append("a", []int64{10, 5}, m.file("0/9", "0/8"))
			m.want(m.check(options("a")), Finding{Doubled, 0, 8, s, ""})
		})
	}
}

func TestTwoTopologiesOnOneTable(t *testing.T) {
	m := newMaker(t)
	files := m.good()
	f := m.file(rowsOf(0, 0, 8)...)
	m.append("b", []int64{0, 0})
	m.append("b", []int64{8, 0}, f)
	m.append("a", []int64{9, 5}, m.file("0/8"))
	m.rewrite([]iceberg.DataFile{f, files[2]}, []iceberg.DataFile{m.file(append(rowsOf(0, 0, 8), rowsOf(1, 2, 5)...)...)})
	m.want(m.check(options("a", "b")))
	// What b brings beyond its own positions is early, although a is further.
	s := m.append("b", []int64{8, 0}, m.file("1/0"))
	m.want(m.check(options("a", "b")), Finding{Early, 1, 0, s, ""})
	// To one who knows of a alone, b's rows are there twice.
	if n := m.check(options("a")).Count[Doubled]; n != 8 {
		t.Errorf("%d doubled", n)
	}
}

func TestPositionsSetByAPerson(t *testing.T) {
	o := options("a")
	o.SetByHand = true
	m := newMaker(t)
	m.good()
	m.starts["a"] = []int64{10, 0}
	m.append("a", []int64{10, 5}) // 8 and 9 are skipped
	m.append("a", []int64{12, 5}, m.file("0/10", "0/11"))
	m.starts["a"] = []int64{11, 0}
	m.append("a", []int64{11, 5}) // 11 comes again
	m.append("a", []int64{12, 5}, m.file("0/11"))
	r := m.check(o)
	m.want(r)
	if r.SetByHand != 2 {
		t.Errorf("%d positions were set", r.SetByHand)
	}
	m.append("a", []int64{11, 5}) // back to its own start: a person's, too
	s := m.append("a", []int64{12, 5}, m.file("0/8", "0/11"))
	m.want(m.check(o), Finding{Doubled, 0, 8, s, ""})
}

func TestAnUnclearTopologyStandsWhereItStood(t *testing.T) {
	m := newMaker(t)
	m.good()
	tx := m.table().NewTransaction()
	if err := tx.AddFiles(t.Context(), nil, iceberg.Properties{keyCommitID: "x", keyTopology: "b",
		keyPositions: `{"v":1,"topologies":{"a":{"unclear":true},"b":{"topics":{"orders":{"next":[[0,2]]}}}}}`}, true); err != nil {
		t.Fatal(err)
	}
	m.commit(tx)
	m.append("a", []int64{9, 5}, m.file("0/8"))
	m.want(m.check(options("a")))
}

func TestWhatCannotBeCheckedIsAnError(t *testing.T) {
	m := newMaker(t)
	for _, o := range []Options{{}, {Topologies: []string{"a"}}, {Topologies: []string{"a"}, Topic: "orders"}} {
		if _, err := Check(t.Context(), m.table(), truth{}, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	tx := m.table().NewTransaction()
	if err := tx.AddFiles(t.Context(), nil, iceberg.Properties{keyPositions: `{"v":2}`}, true); err != nil {
		t.Fatal(err)
	}
	m.commit(tx)
	if _, err := Check(t.Context(), m.table(), truth{}, options("a")); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Error(err)
	}
}

func TestAnEmptyTable(t *testing.T) {
	m := newMaker(t)
	m.want(m.check(options("a")))
	o := options("a")
	o.Whole = true
	m.want(m.check(o), Finding{Behind, 0, 0, 0, ""}, Finding{Behind, 1, 0, 0, ""})
}

// TestColumnsAreFoundByTheirIDs renames what was written under other names, as schema evolution does.
func TestColumnsAreFoundByTheirIDs(t *testing.T) {
	m := newMaker(t)
	m.names = [3]string{"p", "o", "text"}
	m.good()
	m.want(m.check(options("a")))
}

func TestACacheKeepsRowsAndNotFiles(t *testing.T) {
	m := newMaker(t)
	files := m.good()
	o := options("a")
	o.Cache = &Cache{}
	m.want(m.check(o))
	m.want(m.check(o))
	_ = m.files.Remove(files[2].FilePath())
	if n := m.check(o).Count[Dangling]; n != 1 {
		t.Errorf("%d dangling: the cache hides that a file is gone", n)
	}
}

func TestManyFindingsAreCounted(t *testing.T) {
	m := newMaker(t)
	f := m.file(rowsOf(0, 0, 20)...)
	m.append("a", []int64{20, 0}, f, f, f, f, f, f, f)
	files := make([]iceberg.DataFile, 8)
	for i := range files {
		files[i] = m.file(rowsOf(0, 0, 20)...)
		m.append("a", []int64{20, 0}, files[i])
	}
	r := m.check(options("a"))
	if r.Count[Doubled] != 18+8*18 || len(r.Findings) != maxFindings {
		t.Errorf("%d doubled, %d findings", r.Count[Doubled], len(r.Findings))
	}
	if r.Rows != 15*18 {
		t.Errorf("%d rows", r.Rows)
	}
}
