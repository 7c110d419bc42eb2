package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Compression codecs as a record batch's attributes name them.
const (
	codecNone = iota
	codecGzip
	codecSnappy
	codecLZ4
	codecZstd
)

var (
	errTooLarge = errors.New("the batch is larger than max_record_batch_bytes once decompressed")
	errLZ4      = errors.New("the lz4 frame is damaged")
	errSnappy   = errors.New("the snappy data is damaged")
)

// decompressor keeps what the codecs need between batches. It belongs to one goroutine.
type decompressor struct {
	limit int // the most bytes one batch may become
	gz    *gzip.Reader
	zs    *zstd.Decoder
	src   bytes.Reader
	// ratio is about how many times larger a codec's data has become lately; 0 before the first.
	ratio [codecZstd + 1]int
}

// decompress appends what src becomes to dst. It grows dst where the room does not suffice.
func (d *decompressor) decompress(codec int, dst, src []byte) ([]byte, error) {
	switch codec {
	case codecGzip:
		return d.gzip(dst, src)
	case codecSnappy:
		return snappy(dst, src, d.limit)
	case codecLZ4:
		return lz4Frames(dst, src, d.limit)
	case codecZstd:
		return d.zstd(dst, src)
	}
	return dst, fmt.Errorf("unknown compression codec %d", codec)
}

// sizeHint guesses how many bytes src becomes; exact where the codec says it.
func (d *decompressor) sizeHint(codec int, src []byte) int {
	switch codec {
	case codecSnappy:
		if !xerial(src) {
			if n, err := s2.DecodedLen(src); err == nil {
				return n
			}
		}
	case codecZstd:
		var h zstd.Header
		if h.Decode(src) == nil && h.HasFCS && h.FrameContentSize < math.MaxInt32 {
			return int(h.FrameContentSize)
		}
	case codecNone, codecGzip, codecLZ4:
	default:
		return 0
	}
	ratio := d.ratio[codec]
	if ratio == 0 {
		ratio = 4
	}
	return ratio * len(src)
}

// learn keeps the ratio a little above what was seen, so that most batches fit the guess.
func (d *decompressor) learn(codec, in, out int) {
	if in > 0 {
		r := out/in + 1
		d.ratio[codec] = max(r, (7*d.ratio[codec]+r)/8)
	}
}

func (d *decompressor) zstd(dst, src []byte) ([]byte, error) {
	if d.zs == nil {
		zs, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(d.limit)))
		if err != nil {
			return dst, err
		}
		d.zs = zs
	}
	out, err := d.zs.DecodeAll(src, dst)
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = errTooLarge
	}
	return out, err
}

func (d *decompressor) gzip(dst, src []byte) ([]byte, error) {
	d.src.Reset(src)
	if d.gz == nil {
		d.gz = new(gzip.Reader)
	}
	if err := d.gz.Reset(&d.src); err != nil {
		return dst, err
	}
	start := len(dst)
	for {
		if len(dst) == cap(dst) {
			dst = grow(dst, max(4096, len(dst)-start))
		}
		n, err := d.gz.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if len(dst)-start > d.limit {
			return dst, errTooLarge
		}
		if err == io.EOF { //nolint:errorlint // the clean end is io.EOF itself; a wrapped one would be data cut off
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// grow gives b room for n more bytes.
func grow(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	c := make([]byte, len(b), max(2*cap(b), len(b)+n))
	copy(c, b)
	return c
}

var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func xerial(src []byte) bool { return len(src) >= 16 && bytes.Equal(src[:8], xerialMagic) }

// snappy takes the bare block format and xerial's framing of it, which the Java client writes.
func snappy(dst, src []byte, limit int) ([]byte, error) {
	if !xerial(src) {
		return snappyBlock(dst, src, limit)
	}
	start := len(dst)
	for src = src[16:]; len(src) > 0; {
		if len(src) < 4 {
			return dst, errSnappy
		}
		n := int(binary.BigEndian.Uint32(src))
		if src = src[4:]; n > len(src) {
			return dst, errSnappy
		}
		var err error
		if dst, err = snappyBlock(dst, src[:n], limit-(len(dst)-start)); err != nil {
			return dst, err
		}
		src = src[n:]
	}
	return dst, nil
}

func snappyBlock(dst, src []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return dst, errSnappy
	}
	if n > limit {
		return dst, errTooLarge
	}
	dst = grow(dst, n)
	out, err := s2.Decode(dst[len(dst):len(dst)+n], src)
	if err != nil {
		return dst, errSnappy
	}
	return dst[:len(dst)+len(out)], nil
}

const lz4Magic = 0x184D2204

// lz4Frames decodes LZ4 frames block by block: no reader, no goroutine. Checksums inside the frame are not looked at;
// the record batch's own covers the same bytes. (Kafka's old broken header checksum is thereby no trouble either.)
func lz4Frames(dst, src []byte, limit int) ([]byte, error) {
	start := len(dst)
	for first := true; first || len(src) > 0; first = false {
		var err error
		if dst, src, err = lz4Frame(dst, src, start+limit); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// lz4Frame decodes one frame; end is the length that dst must not pass.
func lz4Frame(dst, src []byte, end int) (out, rest []byte, err error) {
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != lz4Magic {
		return dst, nil, errLZ4
	}
	flags, bd := src[4], src[5]
	p := 7
	if flags&0x08 != 0 {
		p += 8 // content size
	}
	if flags&0x01 != 0 {
		p += 4 // dictionary id
	}
	blockID := int(bd >> 4 & 7)
	if flags>>6 != 1 || blockID < 4 || p > len(src) {
		return dst, nil, errLZ4
	}
	maxBlock := 64 << 10 << (2 * (blockID - 4))
	independent, start := flags&0x20 != 0, len(dst)
	for {
		if p+4 > len(src) {
			return dst, nil, errLZ4
		}
		word := binary.LittleEndian.Uint32(src[p:])
		p += 4
		if word == 0 {
			break
		}
		n := int(word & 0x7fffffff)
		if n > len(src)-p || n > maxBlock {
			return dst, nil, errLZ4
		}
		var dict []byte
		if !independent {
			dict = dst[max(start, len(dst)-65536):]
		}
		if dst, err = lz4Block(dst, src[p:p+n], dict, word>>31 != 0, maxBlock, end); err != nil {
			return dst, nil, err
		}
		p += n
		if flags&0x10 != 0 {
			p += 4 // block checksum
		}
	}
	if flags&0x04 != 0 {
		p += 4 // content checksum
	}
	if p > len(src) {
		return dst, nil, errLZ4
	}
	return dst, src[p:], nil
}

func lz4Block(dst, block, dict []byte, stored bool, maxBlock, end int) ([]byte, error) {
	if stored {
		if len(dst)+len(block) > end {
			return dst, errTooLarge
		}
		return append(dst, block...), nil
	}
	// A block of n bytes never becomes more than 255 times as many. Most fit into the room there is; the rest is tried
	// again with more.
	most := min(maxBlock, 255*len(block)+64, max(end-len(dst), 0))
	room := min(most, cap(dst)-len(dst))
	for {
		if room > 0 {
			n, err := lz4.UncompressBlockWithDict(block, dst[len(dst):len(dst)+room], dict)
			if err == nil {
				return dst[:len(dst)+n], nil
			}
		}
		if room == most {
			break
		}
		room = min(most, max(2*room, 4*len(block), 4096))
		dst = grow(dst, room)
	}
	if len(dst)+most >= end {
		return dst, errTooLarge
	}
	return dst, errLZ4
}
