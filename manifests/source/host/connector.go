// Package host is the connector's side of the Aileron ABI: one call arrives on standard input as
// {"op", "args"}, one answer leaves on standard output as {"output"} or {"error"}, and HTTP goes
// through the host, which checks the network grant and adds the credential.
package host

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
)

// Object is a JSON object. Numbers in it stay as JSON wrote them.
type Object = map[string]any

// Failure is an error with the class that the host reports to people and agents.
type Failure struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

func (f *Failure) Error() string { return f.Class + ": " + f.Message }

// Wrong says that the call itself cannot be carried out as asked.
func Wrong(op, message string) error {
	return &Failure{Class: "connector_runtime_error", Message: op + ": " + message}
}

// Op is one operation: arguments in, a JSON object out.
type Op func(Call) (Object, error)

// Serve answers the one call on standard input. A module lives for one call only.
func Serve(ops map[string]Op) {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		stop("standard input cannot be read")
	}
	var call Call
	if err := decode(input, &call); err != nil {
		stop("standard input is not a call")
	}
	op, known := ops[call.Op]
	if !known {
		stop("unknown op " + call.Op)
	}
	output, err := op(call)
	if err != nil {
		failure, classed := err.(*Failure)
		if !classed {
			failure = &Failure{Class: "connector_runtime_error", Message: err.Error()}
		}
		answer(Object{"error": failure})
		return
	}
	answer(Object{"output": output})
}

// decode reads exactly one JSON document.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		stop("the answer is not JSON")
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

func answer(envelope Object) {
	if _, err := os.Stdout.Write(encode(envelope)); err != nil {
		stop("standard output cannot be written")
	}
}

func stop(reason string) {
	os.Stderr.WriteString(reason + "\n")
	os.Exit(1)
}
