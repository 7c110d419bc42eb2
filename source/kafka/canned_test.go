package kafka

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A canned broker answers fetches for ever with the same record batches, moved to the offset that is asked for: a batch's
// checksum does not cover its offset. It costs little, and as a process of its own nothing of what a benchmark counts.

// cannedEnv makes a test binary a canned broker: the codec and the size of the values.
const cannedEnv = "FLOE_TEST_CANNED_BROKER"

// ServeCanned runs a canned broker where the environment asks for one, until its standard input ends.
func ServeCanned() bool {
	var codec, size int
	if _, err := fmt.Sscanf(os.Getenv(cannedEnv), "%d,%d", &codec, &size); err != nil {
		return false
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go (&canned{batches: cannedBatches(codec, size)}).serve(ln)
	fmt.Fprintln(os.Stdout, ln.Addr())
	io.Copy(io.Discard, os.Stdin)
	return true
}

// startCanned runs a canned broker in another process until the test ends.
func startCanned(b testing.TB, codec, size int) (addr string) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d,%d", cannedEnv, codec, size))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if addr, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// cannedBatches are record batches as a producer with a batch size of 160 kB writes them.
func cannedBatches(codec, size int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	perBatch := max(1, 160_000/(size+20))
	id := 1_000_000_000
	var out [][]byte
	for range max(4, 16/perBatch) {
		tb := testBatch{producer: -1, time: 1_760_000_000_000, codec: codec}
		for i := range perBatch {
			tb.records = append(tb.records, testRecord{delta: int64(i), time: int64(3 * i), value: event(r, id, size)})
			id++
		}
		out = append(out, tb.encode())
	}
	return out
}

// event is a JSON object of about the given size: of 143 bytes with six fields, and of words beyond that.
func event(r *rand.Rand, id, size int) []byte {
	kinds := []string{"click", "view", "purchase", "add_to_cart", "search", "login", "logout", "share"}
	words := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo", "lima"}
	b := fmt.Appendf(nil, `{"id":%d,"user_id":%d,"event_type":%q,"value":%.2f,"info":"`, id, r.IntN(1e6), kinds[r.IntN(len(kinds))], 1000*r.Float64())
	for first := true; first || len(b) < size-36; first = false {
		b = append(b, words[r.IntN(len(words))]...)
		b = append(b, ' ')
	}
	return fmt.Appendf(b, `","ts":%q}`, time.UnixMilli(1_760_000_000_000+int64(3*id)).UTC().Format("2006-01-02T15:04:05.000Z"))
}

type canned struct{ batches [][]byte }

func (c *canned) serve(ln net.Listener) {
	for {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		go c.conn(nc)
	}
}

func (c *canned) conn(nc net.Conn) {
	defer nc.Close()
	var size [4]byte
	var req, body []byte
	in := bufio.NewReader(nc)
	for {
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(size[:]))
		req = append(req[:0], make([]byte, n)...)
		if _, err := io.ReadFull(in, req); err != nil {
			return
		}
		body = append(body[:0], 0, 0, 0, 0)
		body = append(body, req[4:8]...)
		if binary.BigEndian.Uint16(req) == fetchKey {
			body = c.fetch(body, req)
		} else {
			body = cannedVersions(body)
		}
		binary.BigEndian.PutUint32(body, uint32(len(body)-4))
		if _, err := nc.Write(body); err != nil {
			return
		}
	}
}

// cannedVersions answers a version 0 request for versions: fetches by name, and metadata.
func cannedVersions(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, 0)
	keys := [][3]uint16{{fetchKey, 0, fetchNoIDs}, {metadataKey, 0, 8}, {18, 0, 0}}
	b = be.AppendUint32(b, uint32(len(keys)))
	for _, k := range keys {
		b = be.AppendUint16(be.AppendUint16(be.AppendUint16(b, k[0]), k[1]), k[2])
	}
	return b
}

// fetch answers a request of version 11 for one topic: each partition is filled up to what it may take.
func (c *canned) fetch(b, req []byte) []byte {
	be := binary.BigEndian
	req = req[10+be.Uint16(req[8:]):] // behind the client id
	total := int(be.Uint32(req[12:]))
	topics := req[4+4+4+4+1+4+4:]
	nameLen := int(be.Uint16(topics[4:]))
	name := topics[4 : 6+nameLen]
	rest := topics[6+nameLen:]
	n := int(be.Uint32(rest))
	b = append(b, make([]byte, 4+2+4)...) // throttle, error, session
	b = be.AppendUint32(b, 1)
	b = append(b, name...)
	b = be.AppendUint32(b, uint32(n))
	const partition = 4 + 4 + 8 + 8 + 4
	for rest = rest[4:]; n > 0; n, rest = n-1, rest[partition:] {
		from, most := int64(be.Uint64(rest[8:])), int(be.Uint32(rest[partition-4:]))
		b = append(b, rest[:4]...)
		b = append(b, 0, 0)
		b = be.AppendUint64(b, 1<<60)
		b = be.AppendUint64(b, 1<<60)
		b = be.AppendUint64(b, 0)
		b = be.AppendUint32(b, 0)
		b = be.AppendUint32(b, ^uint32(0)) // no other replica
		at := len(b)
		b = be.AppendUint32(b, 0)
		for i := int(from) % len(c.batches); ; i = (i + 1) % len(c.batches) {
			batch := c.batches[i]
			if got := len(b) - at - 4; got > 0 && got+len(batch) > most || total < len(batch) && got > 0 || total <= 0 {
				break
			}
			start := len(b)
			b = append(b, batch...)
			be.PutUint64(b[start:], uint64(from))
			from += int64(be.Uint32(batch[23:])) + 1
			total -= len(batch)
		}
		be.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	return b
}
