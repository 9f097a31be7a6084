package cloud

// wire puts our services in front of moto.
func (c *Cloud) wire() {}
