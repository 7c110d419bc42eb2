package tableio

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/apache/iceberg-go/table"
)

type smithyError struct{ code string }

func (e smithyError) Error() string     { return "glue: " + e.code }
func (e smithyError) ErrorCode() string { return e.code }

// InvalidOperationException has the name of the one of Hive's client.
type InvalidOperationException struct{ Message string }

func (e *InvalidOperationException) Error() string { return e.Message }

func TestARefusalIsToldFromAnOutage(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Refusal
	}{
		{nil, NoRefusal},
		{smithyError{"AccessDeniedException"}, Forbids},
		{smithyError{"ResourceNumberLimitExceededException"}, Forbids}, // old versions can be deleted: no fault of a record
		{smithyError{"InvalidInputException"}, Refuses},
		// The storage, where the client writes the metadata.
		{smithyError{"AccessDenied"}, Forbids},
		{&fs.PathError{Op: "open", Path: "/warehouse/metadata", Err: syscall.EACCES}, Forbids},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EPERM)}, NoRefusal},
		{smithyError{"ThrottlingException"}, NoRefusal},
		{smithyError{"EntityNotFoundException"}, NoRefusal},
		{fmt.Errorf("%w: %w", table.ErrCommitFailed, smithyError{"InvalidInputException"}), NoRefusal},
		{errors.Join(&InvalidOperationException{"The following columns have types incompatible with the existing columns"}, errors.New("unlock")), Refuses},
		{&InvalidOperationException{"table db.t doesn't exist"}, NoRefusal},
		{errors.New("types are incompatible"), NoRefusal},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("failed to commit table: %w", err)
		}
		if got := RefusalOf(err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
