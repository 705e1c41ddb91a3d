module github.com/targetgate/targetgate

go 1.26.0
