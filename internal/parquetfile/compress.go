package parquetfile

import (
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/zstd"
)

// compressor compresses pages, one at a time, into a buffer of its own.
type compressor struct {
	codec compress.Compression
	level int
	// window is how far back zstd looks: a page.
	window int
	zstd   *zstd.Encoder
	other  compress.Codec
	out    []byte
}

const (
	minWindow = 128 << 10
	maxWindow = 4 << 20
)

// use makes ready for files with these options.
func (c *compressor) use(o *Options) error {
	window := 1 << bits.Len64(uint64(min(maxWindow, max(minWindow, o.PageBytes))-1))
	if c.codec == o.Codec && c.level == o.Level && c.window == window {
		return nil
	}
	*c = compressor{codec: o.Codec, level: o.Level, window: window, out: c.out}
	switch o.Codec {
	case compress.Codecs.Uncompressed:
	case compress.Codecs.Zstd:
		// Nothing runs beside it, and a page needs no checksum: the storage has them. Literals are always packed: text
		// without repetitions, as of identifiers in hex, shrinks by half all the same.
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(o.Level)), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true), zstd.WithAllLitEntropyCompression(true))
		if err != nil {
			return fmt.Errorf("parquet: zstd at level %d: %w", o.Level, err)
		}
		c.zstd = z
	default:
		other, err := compress.GetCodec(o.Codec)
		if err != nil {
			return fmt.Errorf("parquet: codec %s: %w", o.Codec, err)
		}
		c.other = other
	}
	return nil
}

// compress gives src compressed; it is good until the next call.
func (c *compressor) compress(src []byte) []byte {
	switch {
	case c.zstd != nil:
		c.out = c.zstd.EncodeAll(src, c.out[:0])
	case c.other != nil:
		if n := int(c.other.CompressBound(int64(len(src)))); cap(c.out) < n {
			c.out = make([]byte, 0, n)
		}
		return c.other.EncodeLevel(c.out[:cap(c.out)], src, c.level)
	default:
		return src
	}
	return c.out
}

// memory is about what the compressor holds. Zstd's tables are measured.
func (c *compressor) memory() int64 {
	n := int64(cap(c.out))
	if c.zstd == nil {
		return n
	}
	switch zstd.EncoderLevelFromZstd(c.level) {
	case zstd.SpeedFastest:
		n += 576 << 10
	case zstd.SpeedDefault:
		n += 1536 << 10
	case zstd.SpeedBetterCompression:
		n += 5 << 20
	default:
		n += 36 << 20
	}
	return n + int64(c.window)
}
