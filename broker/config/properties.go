package config

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPropertiesLine bounds a logical line of a properties file, bytes.
const maxPropertiesLine = 1 << 20

// ParseProperties reads the syntax of java.util.Properties, in UTF-8: a key and a value are separated by =, : or
// blanks; a line that begins with # or ! is a comment; a backslash at its end continues a line; \t \n \r \f \uXXXX
// and \ before any other character are escapes. The last of several values of a key counts.
func ParseProperties(r io.Reader) (map[string]string, error) {
	props := map[string]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxPropertiesLine)
	lines.Split(splitAnyNewline)
	number, start := 0, 0
	var logical strings.Builder
	continued := false
	flush := func() error {
		key, value := splitProperty(logical.String())
		logical.Reset()
		k, err := unescape(key)
		if err != nil {
			return fmt.Errorf("line %d: %w", start, err)
		}
		v, err := unescape(value)
		if err != nil {
			return fmt.Errorf("line %d: %w", start, err)
		}
		props[k] = v
		return nil
	}
	for lines.Scan() {
		number++
		line := strings.TrimLeft(lines.Text(), " \t\f")
		if !continued {
			if line == "" || line[0] == '#' || line[0] == '!' {
				continue
			}
			start = number
		}
		continued = endsInBackslash(line)
		if continued {
			line = line[:len(line)-1]
		}
		if logical.Len()+len(line) > maxPropertiesLine {
			return nil, fmt.Errorf("line %d: longer than %d bytes", start, maxPropertiesLine)
		}
		logical.WriteString(line)
		if !continued {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number+1, err)
	}
	if continued && logical.Len() > 0 {
		if err := flush(); err != nil {
			return nil, err
		}
	}
	return props, nil
}

// splitAnyNewline ends lines at \n, \r and \r\n, as Java does.
func splitAnyNewline(data []byte, atEOF bool) (advance int, token []byte, err error) {
	for i, c := range data {
		if c == '\n' {
			return i + 1, data[:i], nil
		}
		if c == '\r' {
			if i+1 < len(data) {
				if data[i+1] == '\n' {
					return i + 2, data[:i], nil
				}
				return i + 1, data[:i], nil
			}
			if atEOF {
				return i + 1, data[:i], nil
			}
			return 0, nil, nil // the \n may be still to come
		}
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// endsInBackslash reports whether a line ends in an odd number of backslashes.
func endsInBackslash(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

// splitProperty cuts a logical line at its first separator that is not escaped.
func splitProperty(line string) (key, value string) {
	i := 0
	for i < len(line) && !strings.ContainsRune("=: \t\f", rune(line[i])) {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(line))
	key, rest := line[:i], strings.TrimLeft(line[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return key, rest
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			break
		}
		switch c := s[i]; c {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, used, err := unicodeEscape(s[i+1:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += used
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// unicodeEscape reads what follows \u: four hexadecimal digits, and the other half if they are half of a pair.
func unicodeEscape(s string) (r rune, used int, err error) {
	unit := func(s string) (uint64, error) {
		if len(s) < 4 {
			return 0, fmt.Errorf(`\u needs four hexadecimal digits`)
		}
		n, err := strconv.ParseUint(s[:4], 16, 16)
		if err != nil {
			return 0, fmt.Errorf(`\u%s: needs four hexadecimal digits`, s[:4])
		}
		return n, nil
	}
	high, err := unit(s)
	if err != nil {
		return 0, 0, err
	}
	if high >= 0xd800 && high < 0xdc00 && strings.HasPrefix(s[4:], `\u`) {
		if low, err := unit(s[6:]); err == nil && low >= 0xdc00 && low < 0xe000 {
			return rune(0x10000 + (high-0xd800)<<10 + (low - 0xdc00)), 10, nil
		}
	}
	if high >= 0xd800 && high < 0xe000 {
		return utf8.RuneError, 4, nil
	}
	return rune(high), 4, nil
}
