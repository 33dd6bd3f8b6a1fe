module aileron.example/samples

go 1.26
