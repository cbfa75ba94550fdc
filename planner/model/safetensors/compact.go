package safetensors

// Every file that the safetensors library wrote has its entries in one form:
//
//	{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}
//
// This form is read straight from the window, in half the time. Whatever
// differs from it in any way is left to the general reader, which also says
// what is wrong.

// compactEntry is more than such an entry takes.
const compactEntry = 512

// compact reads an entry of that form; false leaves everything as it was.
func (d *Reader) compact() bool {
	if d.in.end-d.in.pos < compactEntry {
		d.in.more()
	}
	c := cursor{d.in.buf[d.in.pos:d.in.end], true}
	t := &d.tensor
	c.text(`{"dtype":"`)
	t.DType = parseDType(c.until('"'))
	c.text(`,"shape":[`)
	t.Shape = c.wholes(t.Shape[:0])
	c.text(`,"data_offsets":[`)
	var pair [2]int64
	place := c.wholes(pair[:0])
	c.text(`}`)
	if !c.ok || t.DType == 0 || len(place) != 2 {
		return false
	}
	t.Begin, t.End = place[0], place[1]
	d.in.pos = d.in.end - len(c.rest)
	return true
}

// cursor walks over text that is in memory. Once something differed, ok is
// false and stays so.
type cursor struct {
	rest []byte
	ok   bool
}

func (c *cursor) text(want string) {
	if !c.ok || len(c.rest) < len(want) || string(c.rest[:len(want)]) != want {
		c.ok = false
		return
	}
	c.rest = c.rest[len(want):]
}

// until returns what is before the next stop, within the length of a type's
// name, and steps over both.
func (c *cursor) until(stop byte) []byte {
	for i := 0; i < min(len(c.rest), 16); i++ {
		if c.rest[i] == stop {
			out := c.rest[:i]
			c.rest = c.rest[i+1:]
			return out
		}
	}
	c.ok = false
	return nil
}

// wholes reads numbers of at most 18 digits up to the closing bracket.
func (c *cursor) wholes(out []int64) []int64 {
	if !c.ok {
		return out
	}
	n, digits := int64(0), 0
	for i, b := range c.rest {
		switch {
		case b >= '0' && b <= '9' && digits < 18:
			n, digits = n*10+int64(b-'0'), digits+1
		case (b == ',' || b == ']') && digits > 0 && len(out) < maxRank:
			out = append(out, n)
			n, digits = 0, 0
			if b == ']' {
				c.rest = c.rest[i+1:]
				return out
			}
		case b == ']' && len(out) == 0 && i == 0:
			c.rest = c.rest[1:]
			return out
		default:
			c.ok = false
			return out
		}
	}
	c.ok = false
	return out
}
