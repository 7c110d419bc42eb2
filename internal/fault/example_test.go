package fault_test

import (
	"errors"
	"fmt"

	iceio "github.com/apache/iceberg-go/io"

	"github.com/stormfloe/floe/internal/fault"
	"github.com/stormfloe/floe/internal/tableio"
)

// job is what is under test: it must leave either no file or the whole one, and say "done" only with the file.
func job(fio iceio.IO, p *fault.Plan) error {
	if err := tableio.WriteFile(fio, "mem://b/f", []byte("data")); err != nil {
		return err
	}
	return p.Step("ack")
}

// A harness counts the points of an undisturbed run and then dies at each of them in turn.
func Example() {
	count := fault.New(nil)
	if err := job(fault.WrapIO(iceio.NewMemFS(), count), count); err != nil {
		fmt.Println(err)
	}
	for k := 1; k <= count.N(); k++ {
		disk := iceio.NewMemFS()
		plan := fault.New(fault.At(k, fault.Crash))
		err := job(fault.WrapIO(disk, plan), plan)
		_, err2 := disk.Open("mem://b/f")
		fmt.Printf("%v: crashed %v, file %v\n", plan.Trace()[k-1], errors.Is(err, fault.ErrCrashed), err2 == nil)
	}
	// Output:
	// 1 before put mem://b/f: crashed true, file false
	// 2 after put mem://b/f: crashed true, file true
	// 3 before ack: crashed true, file true
}
