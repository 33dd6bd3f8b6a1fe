// The connector's side of the ABI. One call arrives on standard input as {"op", "args"}, one answer leaves on standard
// output as {"output"} or {"error"}, and HTTP goes through the host. The module runs anew for each call.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unsafe"
)

const apiName = "Notes"

//go:wasmimport aileron_host http_request
func httpRequest(request unsafe.Pointer, length uint32) int32

//go:wasmimport aileron_host http_response_status
func httpResponseStatus() int32

//go:wasmimport aileron_host http_response_size
func httpResponseSize() int32

//go:wasmimport aileron_host http_response_read
func httpResponseRead(destination unsafe.Pointer, length uint32) int32

//go:wasmimport aileron_host log
func hostLog(level unsafe.Pointer, levelLength uint32, message unsafe.Pointer, messageLength uint32)

type object = map[string]any

type op func(call) (object, error)

// call is what the host asks for.
type call struct {
	Op   string `json:"op"`
	Args object `json:"args"`
}

// failure is an error with its class. Its message is shown to people and sent to agents.
type failure struct {
	Class   string `json:"class"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

// serve answers the call on standard input. A failure is an answer too; exit code 1 means that the module is broken.
func serve(ops map[string]op) {
	input, err := io.ReadAll(os.Stdin)
	var c call
	if err != nil || decode(input, &c) != nil {
		stop("standard input is not a call")
	}
	run, known := ops[c.Op]
	if !known {
		stop("unknown op " + c.Op)
	}
	output, err := run(c)
	if err == nil {
		os.Stdout.Write(encode(object{"output": output}))
		return
	}
	reported, ok := err.(*failure)
	if !ok {
		reported = &failure{"connector_runtime_error", err.Error()}
	}
	os.Stdout.Write(encode(object{"error": reported}))
}

// required is an argument that must be a text and not blank.
func (c call) required(name string) (string, error) {
	text, _ := c.Args[name].(string)
	if strings.TrimSpace(text) == "" {
		return "", c.wrong(name + " is required")
	}
	return text, nil
}

// wrong says that the call cannot be carried out as asked.
func (c call) wrong(why string) error {
	return &failure{"connector_runtime_error", c.Op + ": " + why}
}

// send sends one request to the API at base_url and returns the object that it answers; no body is an empty object.
func (c call) send(method, place string, body object) (object, error) {
	base, err := c.required("base_url")
	if err != nil {
		return nil, err
	}
	request := object{
		"method":     method,
		"url":        strings.TrimSuffix(base, "/") + place,
		"headers":    object{"Accept": "application/json"},
		"credential": "api_key", // the kind in the manifest; the host adds the key
	}
	if body != nil {
		request["headers"] = object{"Accept": "application/json", "Content-Type": "application/json"}
		request["body"] = string(encode(body))
	}
	sent := encode(request)
	if code := httpRequest(unsafe.Pointer(unsafe.SliceData(sent)), uint32(len(sent))); code != 0 {
		return nil, c.wrong(fmt.Sprintf("http_request returned %d", code)) // the host reports its own reason instead
	}
	status, answer := httpResponseStatus(), response()
	log("info", fmt.Sprintf("%s %s: %d", method, place, status))
	if status < 200 || status > 299 {
		return nil, &failure{"external_api_error", fmt.Sprintf("%s API returned %d: %s", apiName, status, answer)}
	}
	output := object{}
	if len(answer) == 0 {
		return output, nil
	}
	if err := decode(answer, &output); err != nil || output == nil {
		return nil, &failure{"external_api_error", apiName + " API did not answer with a JSON object"}
	}
	return output, nil
}

// response is the body of the last response. The memory belongs to the module: the host only copies into it.
func response() []byte {
	body := make([]byte, max(httpResponseSize(), 0))
	read := httpResponseRead(unsafe.Pointer(unsafe.SliceData(body)), uint32(len(body)))
	return body[:max(read, 0)]
}

func log(level, message string) {
	hostLog(unsafe.Pointer(unsafe.StringData(level)), uint32(len(level)),
		unsafe.Pointer(unsafe.StringData(message)), uint32(len(message)))
}

// decode reads exactly one JSON document. Numbers stay as they are written.
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
	data, err := json.Marshal(value)
	if err != nil {
		stop("the answer is not JSON: " + err.Error())
	}
	return data
}

func stop(why string) {
	os.Stderr.WriteString(why + "\n")
	os.Exit(1)
}
