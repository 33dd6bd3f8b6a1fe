package host

import "unsafe"

// These five functions are all a connector gets besides WASI: no sockets, no files, no environment.

//go:wasmimport aileron_host http_request
func httpRequest(request unsafe.Pointer, length uint32) int32

//go:wasmimport aileron_host http_response_size
func httpResponseSize() int32

//go:wasmimport aileron_host http_response_status
func httpResponseStatus() int32

//go:wasmimport aileron_host http_response_read
func httpResponseRead(destination unsafe.Pointer, length uint32) int32

//go:wasmimport aileron_host log
func hostLog(level unsafe.Pointer, levelLength uint32, message unsafe.Pointer, messageLength uint32)

// Log gives the host one line for its log.
func Log(level, message string) {
	hostLog(
		unsafe.Pointer(unsafe.StringData(level)), uint32(len(level)),
		unsafe.Pointer(unsafe.StringData(message)), uint32(len(message)),
	)
}

// send hands one request to the host and reads the whole answer.
func send(request []byte) (status int32, body []byte, code int32) {
	if code = httpRequest(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request))); code != 0 {
		return 0, nil, code
	}
	size := httpResponseSize()
	if size > 0 {
		body = make([]byte, size)
		read := httpResponseRead(unsafe.Pointer(unsafe.SliceData(body)), uint32(size))
		body = body[:max(read, 0)]
	}
	return httpResponseStatus(), body, 0
}
