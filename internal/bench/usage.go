package bench

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// usage is what this process has used since it started.
type usage struct {
	cpu, gc       time.Duration
	allocs, bytes uint64
}

func usageNow() usage {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return usage{
		cpu: cpuTime(), gc: time.Duration(s[2].Value.Float64() * float64(time.Second)),
		allocs: s[0].Value.Uint64(), bytes: s[1].Value.Uint64(),
	}
}

func (u usage) since(v usage) usage {
	return usage{cpu: u.cpu - v.cpu, gc: u.gc - v.gc, allocs: u.allocs - v.allocs, bytes: u.bytes - v.bytes}
}

// Machine is where a run was made.
type Machine struct {
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

func thisMachine() Machine {
	return Machine{CPUs: runtime.GOMAXPROCS(0), Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}
