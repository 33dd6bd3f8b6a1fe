package host

import (
	"encoding/json"
	"strings"
)

// Call is what the host asks for.
type Call struct {
	Op   string `json:"op"`
	Args Object `json:"args"`
}

// Text is an optional argument. Manifests send text, agents may send numbers: both are read.
func (c Call) Text(name string) string {
	switch value := c.Args[name].(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	}
	return ""
}

// Has tells a text that was sent, even an empty one, from one that was not.
func (c Call) Has(name string) bool {
	_, sent := c.Args[name].(string)
	return sent
}

// Required is an argument that must be there and not be blank.
func (c Call) Required(name string) (string, error) {
	value := c.Text(name)
	if strings.TrimSpace(value) == "" {
		return "", Wrong(c.Op, name+" is required")
	}
	return value, nil
}

// Line is a required argument that must stay within one line, such as a mail header.
func (c Call) Line(name string) (string, error) {
	value, err := c.Required(name)
	if err == nil && strings.ContainsAny(value, "\r\n\x00") {
		return "", Wrong(c.Op, name+" must be one line")
	}
	return value, err
}
