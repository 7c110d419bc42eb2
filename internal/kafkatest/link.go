package kafkatest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Message is a request on its way to a broker, or an answer on its way back.
type Message struct {
	// Answer tells the two apart.
	Answer bool
	Key    kmsg.Key
	// Request is what was asked, also for an answer. It must not be changed.
	Request kmsg.Request
	// N counts the messages of this key and direction that have come along the link, from 1.
	N int
	// Bytes is the message's size, its length included.
	Bytes int
}

// Fate is what becomes of a message. The zero value lets it pass. The fields are looked at in their order.
type Fate struct {
	// Edit changes an answer, when it comes from the broker. It is not called for requests.
	Edit func(kmsg.Response)
	// Wait holds the message, and all behind it on its connection, until it is closed.
	Wait <-chan struct{}
	// Reset sends the first Bytes of the message on and resets the connection then.
	Reset bool
	Bytes int
	// Silent lets nothing pass any more in this direction of this connection, which stays open.
	Silent bool
}

// Link is a network between a client and the brokers that can delay, cut and change what comes along: give its Dial to the
// client. It ends with the test. All methods may be called from any goroutine.
type Link struct {
	t  testing.TB
	ln net.Listener
	wg sync.WaitGroup
	mu struct {
		sync.Mutex
		rule  func(Message) Fate
		heard func()
		seen  map[seen]int
		wires map[*wire]struct{}
		down  bool
	}
}

type seen struct {
	answer bool
	key    kmsg.Key
}

// NewLink makes a link that lets everything pass.
func NewLink(t testing.TB) *Link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for a link: %v", err)
	}
	l := &Link{t: t, ln: ln}
	l.mu.seen, l.mu.wires = map[seen]int{}, map[*wire]struct{}{}
	t.Cleanup(func() {
		l.Break()
		l.wg.Wait()
		_ = ln.Close()
	})
	return l
}

// Rule decides over each message from now on; nil lets all pass. It is called for one message at a time and must not call
// the link.
func (l *Link) Rule(f func(Message) Fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.rule = f
}

// OnMessage has f called after each message that was passed on, whatever the rule makes of it. f must return at once and not
// call the link.
func (l *Link) OnMessage(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.heard = f
}

func (l *Link) passed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.heard != nil {
		l.mu.heard()
	}
}

// Break resets every connection and refuses new ones, until Mend.
func (l *Link) Break() {
	l.mu.Lock()
	l.mu.down = true
	l.mu.Unlock()
	l.ResetAll()
}

// Mend lets the client connect again.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.down = false
}

// ResetAll resets every connection there is.
func (l *Link) ResetAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.mu.wires {
		w.reset()
	}
}

var errDown = errors.New("the link is down")

// Dial connects to a broker through the link.
func (l *Link) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	far, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	client, w, err := l.connect(ctx, far)
	if err != nil {
		_ = far.Close()
		return nil, err
	}
	l.wg.Go(func() { w.pump(w.near, w.far, w.request) })
	l.wg.Go(func() { w.pump(w.far, w.near, w.answer) })
	return client, nil
}

// connect makes the client's end of the link.
func (l *Link) connect(ctx context.Context, far net.Conn) (net.Conn, *wire, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.down {
		return nil, nil, errDown
	}
	client, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.ln.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	near, err := l.accept(client)
	if err != nil {
		_ = client.Close()
		return nil, nil, err
	}
	w := &wire{l: l, near: near, far: far, over: make(chan struct{})}
	w.mu.asked = map[int32]kmsg.Request{}
	l.mu.wires[w] = struct{}{}
	return client, w, nil
}

// accept takes the other end of client. One whose dialing was given up may stand before it.
func (l *Link) accept(client net.Conn) (net.Conn, error) {
	for {
		near, err := l.ln.Accept()
		if err != nil {
			return nil, err
		}
		if near.RemoteAddr().String() == client.LocalAddr().String() {
			return near, nil
		}
		_ = near.Close()
	}
}

func (l *Link) fate(m Message) Fate {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := seen{m.Answer, m.Key}
	l.mu.seen[k]++
	m.N = l.mu.seen[k]
	if l.mu.rule == nil {
		return Fate{}
	}
	return l.mu.rule(m)
}

// wire is one connection through the link.
type wire struct {
	l         *Link
	near, far net.Conn // towards the client, and towards the broker
	over      chan struct{}
	once      sync.Once
	mu        struct {
		sync.Mutex
		asked map[int32]kmsg.Request // by correlation
	}
}

func (w *wire) close() {
	w.once.Do(func() {
		close(w.over)
		_, _ = w.near.Close(), w.far.Close()
	})
}

// reset makes both ends see a connection that was reset rather than closed.
func (w *wire) reset() {
	for _, c := range []net.Conn{w.near, w.far} {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	w.close()
}

// pump brings messages from one end to the other until one of them is closed.
func (w *wire) pump(from io.Reader, to io.Writer, judge func([]byte) (Fate, []byte)) {
	defer func() {
		w.close()
		w.l.mu.Lock()
		defer w.l.mu.Unlock()
		delete(w.l.mu.wires, w)
	}()
	for {
		frame, err := readFrame(from)
		if err != nil {
			return
		}
		fate, frame := judge(frame)
		if fate.Wait != nil {
			select {
			case <-fate.Wait:
			case <-w.over:
				return
			}
		}
		switch {
		case fate.Reset:
			_, _ = to.Write(frame[:min(fate.Bytes, len(frame))])
			w.reset()
			return
		case fate.Silent:
			<-w.over
			return
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
		w.l.passed()
	}
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(size[:]))
	copy(frame, size[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// request notes what is asked and asks the rule.
func (w *wire) request(frame []byte) (Fate, []byte) {
	r := kbin.Reader{Src: frame[4:]}
	key, version, correlation := r.Int16(), r.Int16(), r.Int32()
	r.NullableString() // client id
	req := kmsg.RequestForKey(key)
	if req == nil {
		return Fate{}, frame
	}
	req.SetVersion(version)
	if req.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	if err := req.ReadFrom(r.Src); err != nil {
		w.l.t.Errorf("a request of %s, version %d, can't be read: %v", kmsg.NameForKey(key), version, err)
	}
	w.mu.Lock()
	w.mu.asked[correlation] = req
	w.mu.Unlock()
	return w.l.fate(Message{Key: kmsg.Key(key), Request: req, Bytes: len(frame)}), frame
}

// answer finds the request, asks the rule and edits.
func (w *wire) answer(frame []byte) (Fate, []byte) {
	correlation := int32(binary.BigEndian.Uint32(frame[4:]))
	w.mu.Lock()
	req := w.mu.asked[correlation]
	delete(w.mu.asked, correlation)
	w.mu.Unlock()
	if req == nil {
		return Fate{}, frame
	}
	fate := w.l.fate(Message{Answer: true, Key: kmsg.Key(req.Key()), Request: req, Bytes: len(frame)})
	if fate.Edit != nil {
		frame = w.edit(frame, req, fate.Edit)
	}
	return fate, frame
}

func (w *wire) edit(frame []byte, req kmsg.Request, f func(kmsg.Response)) []byte {
	res := req.ResponseKind()
	tagged := res.IsFlexible() && res.Key() != int16(kmsg.ApiVersions)
	r := kbin.Reader{Src: frame[8:]}
	if tagged {
		kmsg.SkipTags(&r)
	}
	if err := res.ReadFrom(r.Src); err != nil {
		w.l.t.Errorf("an answer to %s, version %d, can't be read: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
		return frame
	}
	f(res)
	out := append([]byte(nil), frame[:8]...)
	if tagged {
		out = append(out, 0)
	}
	out = res.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	return out
}
