module connector

go 1.24
