package proof

import (
	"sync"

	iceio "github.com/apache/iceberg-go/io"
)

// Cache keeps what files hold, which never changes, from check to check; that they are there is looked at again. It is meant
// for tests with thousands of checks of small tables. The zero value is empty; any goroutine.
type Cache struct {
	mu    sync.Mutex
	files map[string]any
}

func (c *Cache) get(path string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[path]
}

func (c *Cache) put(path string, content any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]any{}
	}
	c.files[path] = content
}

// cached is read, of a file that is known and still there from the cache; a nil cache knows none.
func cached[T any](c *Cache, fio iceio.IO, path string, read func() (T, error)) (T, error) {
	if c == nil {
		return read()
	}
	if known, ok := c.get(path).(T); ok {
		f, err := fio.Open(path)
		if err != nil {
			var none T
			return none, err
		}
		return known, f.Close()
	}
	v, err := read()
	if err == nil {
		c.put(path, v)
	}
	return v, err
}
