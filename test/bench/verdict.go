package main

import (
	"errors"
	"fmt"
)

// growth is how much the last third may be above the second one.
const growth = 1.05

// verdict is what the memory was like.
type verdict struct {
	// second and last are the medians of these thirds of the time.
	second, last float64
	peak, bound  int64
	// rows are visible of produced records; fewest would be in time.
	rows, produced, fewest int64
}

// judge takes the medians. The first third is left out: it warms up.
func judge(samples []float64, peak, bound int64) verdict {
	n := len(samples)
	return verdict{second: medianOf(samples[n/3 : n*2/3]), last: medianOf(samples[n*2/3:]), peak: peak, bound: bound}
}

func (v verdict) String() string {
	return fmt.Sprintf("RSS: median %.1f MB in the second third, %.1f MB in the last (ratio %.3f), peak %.1f MB of %.1f MB; %d rows of %d records",
		v.second/1e6, v.last/1e6, v.last/max(1, v.second), float64(v.peak)/1e6, float64(v.bound)/1e6, v.rows, v.produced)
}

func (v verdict) err() error {
	var errs []error
	if v.second == 0 || v.last == 0 {
		errs = append(errs, errors.New("there are too few samples"))
	}
	if v.last > v.second*growth {
		errs = append(errs, fmt.Errorf("the resident set grows: it is %.1f %% above what it was before", (v.last/v.second-1)*100))
	}
	if v.peak > v.bound {
		errs = append(errs, fmt.Errorf("the peak is %.1f MB above the bound", float64(v.peak-v.bound)/1e6))
	}
	if v.rows < v.fewest || v.rows > v.produced {
		errs = append(errs, fmt.Errorf("%d rows are visible, and at least %d and at most %d should be", v.rows, v.fewest, v.produced))
	}
	return errors.Join(errs...)
}
